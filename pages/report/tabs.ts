/** Tabs, of which the address of the page names the one that is seen; paper shows all of them. */
import { html } from './dom.ts';

export interface Tab {
  readonly id: string;
  readonly title: string;
  readonly element: HTMLElement;
}

export class Tabs {
  readonly list: HTMLElement;
  readonly panels: readonly HTMLElement[];
  readonly #tabs: readonly Tab[];
  readonly #buttons: readonly HTMLButtonElement[];
  #onShow: (id: string) => void = () => {};

  constructor(tabs: readonly Tab[]) {
    this.#tabs = tabs;
    this.#buttons = tabs.map(({ id, title }) => {
      const tab = html('button', { type: 'button', role: 'tab', id: `tab-${id}`, 'aria-controls': id }, title);
      tab.addEventListener('click', () => {
        location.hash = id;
      });
      return tab;
    });
    this.list = html('div', { role: 'tablist', class: 'tabs' }, ...this.#buttons);
    this.panels = tabs.map(({ id, title, element }) =>
      html(
        'section',
        { role: 'tabpanel', id: `panel-${id}`, 'aria-label': title, class: 'panel' },
        html('h2', { class: 'paper' }, title),
        element,
      ),
    );
    this.list.addEventListener('keydown', ({ key }) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[key];
      if (step === undefined) return;
      const next = (this.#index + step + tabs.length) % tabs.length;
      location.hash = tabs[next]!.id;
      this.#buttons[next]!.focus();
    });
    addEventListener('hashchange', () => this.#show());
  }

  get current(): string {
    return this.#tabs[this.#index]!.id;
  }

  /** What stands behind the name of the tab in the address. */
  get rest(): string {
    return location.hash.split('/').slice(1).join('/');
  }

  start(onShow: (id: string) => void): void {
    this.#onShow = onShow;
    this.#show();
  }

  get #index(): number {
    const [id] = location.hash.slice(1).split('/');
    return Math.max(
      0,
      this.#tabs.findIndex((tab) => tab.id === id),
    );
  }

  #show(): void {
    const index = this.#index;
    for (const [i, tab] of this.#buttons.entries()) {
      tab.setAttribute('aria-selected', String(i === index));
      tab.tabIndex = i === index ? 0 : -1;
      this.panels[i]!.classList.toggle('shown', i === index);
    }
    this.#onShow(this.current);
  }
}
