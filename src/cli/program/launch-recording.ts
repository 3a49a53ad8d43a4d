/** Recordings of launches below the HAL, for commands. */
import { WavewrightError } from '../../base/errors.ts';
import type { ApplicationWatcher } from '../../exec/observer.ts';
import type { LaunchRecorder } from '../../replay/launches/launch-recorder.ts';
import { BundleFile } from '../process/bundle-file.ts';

/** `using` ends the file. */
export class LaunchRecording implements Disposable {
  /** Undefined where nothing is recorded. */
  readonly recorder: LaunchRecorder | undefined;
  readonly #file: BundleFile | undefined;
  #isTaken = false;

  private constructor(recorder?: LaunchRecorder, file?: BundleFile) {
    this.recorder = recorder;
    this.#file = file;
  }

  /** Throws IO, and USAGE where tools change the code that would be recorded. */
  static async open(output: string | undefined, hasTools: boolean): Promise<LaunchRecording> {
    if (output === undefined) return new LaunchRecording();
    if (hasTools) throw new WavewrightError('USAGE', '--device_replay_output records code without --tool and --hook');
    const { LaunchRecorder: Recorder } = await import('../../replay/launches/launch-recorder.ts');
    const file = new BundleFile(output);
    return new LaunchRecording(new Recorder(file), file);
  }

  /** What the first application gets; only that one is recorded. */
  take(): ApplicationWatcher | undefined {
    const { recorder } = this;
    if (recorder === undefined || this.#isTaken) return undefined;
    this.#isTaken = true;
    return {
      onLoaded: (...loaded) => recorder.onLoaded(...loaded),
      onLaunch: (packet) => recorder.onLaunch(packet),
      onFinished: () => recorder.onFinished(),
    };
  }

  [Symbol.dispose](): void {
    this.recorder?.close();
    this.#file?.[Symbol.dispose]();
  }
}
