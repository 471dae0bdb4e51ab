/** Returns a text as the name of a type: its words, each with a capital. */
export const typeName = (text: string): string => {
  const name = text
    .split(/[^\p{ID_Continue}$]+/u)
    .map(part => `${part.slice(0, 1).toUpperCase()}${part.slice(1)}`)
    .join('');
  return /^\p{ID_Start}/u.test(name) ? name : `_${name}`;
};

/** Returns the name of a property as TypeScript writes it. */
export const propertyName = (name: string): string => (/^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(name) ? name : literal(name));

/** Returns a string as TypeScript writes it. */
export const literal = (text: string): string =>
  `'${JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'").replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029')}'`;

/** The names of a module, each given once. */
export class Names {
  readonly #taken: Set<string>;

  constructor(reserved: readonly string[]) {
    this.#taken = new Set(reserved);
  }

  /** Returns the name, with a number if it is taken. */
  unique(wanted: string): string {
    let name = wanted;
    for (let count = 2; this.#taken.has(name); count++) name = `${wanted}${count}`;
    this.#taken.add(name);
    return name;
  }
}
