/** Elements of the page. What comes from a profile goes into them as text, never as markup. */

type Child = Node | string;
type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;

/** `true` sets an attribute without a value; false and undefined set none. */
function withAttributes<E extends Element>(element: E, attributes: Attributes, children: readonly Child[]): E {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) element.setAttribute(name, value === true ? '' : String(value));
  }
  element.append(...children);
  return element;
}

export const html = <Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[Tag] => withAttributes(document.createElement(tag), attributes, children);

export const svg = <Tag extends keyof SVGElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: readonly Child[]
): SVGElementTagNameMap[Tag] =>
  withAttributes(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);

export function button(label: string, attributes: Attributes, onClick: () => void): HTMLButtonElement {
  const made = html('button', { type: 'button', ...attributes }, label);
  made.addEventListener('click', onClick);
  return made;
}
