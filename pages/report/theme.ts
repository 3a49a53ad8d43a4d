/** Light and dark: what the system says, until the reader chooses; paper is light. */
import { button } from './dom.ts';

type Listener = () => void;

const PALETTE_SIZE = 10;

export class Theme {
  readonly toggle: HTMLButtonElement;
  readonly #listeners: Listener[] = [];
  readonly #system = matchMedia('(prefers-color-scheme: dark)');
  readonly #paper = matchMedia('print');
  #chosen: 'light' | 'dark' | undefined;
  #colours = new Map<string, string>();

  constructor() {
    this.toggle = button('', { class: 'icon', id: 'theme' }, () => {
      this.#chosen = this.isDark ? 'light' : 'dark';
      this.#apply();
    });
    this.#system.addEventListener('change', () => this.#apply());
    this.#paper.addEventListener('change', () => this.#apply());
    addEventListener('beforeprint', () => this.#apply(true));
    addEventListener('afterprint', () => this.#apply());
    this.#apply();
  }

  get isDark(): boolean {
    return (this.#chosen ?? (this.#system.matches ? 'dark' : 'light')) === 'dark';
  }

  /** A custom property of the style sheet, by its name without dashes. */
  colour(name: string): string {
    const known = this.#colours.get(name);
    if (known !== undefined) return known;
    const value = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
    this.#colours.set(name, value);
    return value;
  }

  /** One of the colours of categories. */
  category(index: number): string {
    return this.colour(`category-${index % PALETTE_SIZE}`);
  }

  onChange(listener: Listener): void {
    this.#listeners.push(listener);
  }

  #apply(isPrinted = this.#paper.matches): void {
    const isDark = this.isDark && !isPrinted;
    document.documentElement.dataset['theme'] = isDark ? 'dark' : 'light';
    this.toggle.textContent = this.isDark ? '☀' : '☾';
    this.toggle.setAttribute('aria-label', this.isDark ? 'Light colours' : 'Dark colours');
    this.toggle.title = this.isDark ? 'Light colours' : 'Dark colours';
    this.#colours = new Map();
    for (const listener of this.#listeners) listener();
  }
}
