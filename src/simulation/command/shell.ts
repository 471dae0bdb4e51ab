/** Where one of the two outputs of a command goes: to the other one, to the termination message, or nowhere. */
export interface Redirect {
  readonly from: 1 | 2;
  readonly to: string;
}

/** A command and its arguments, and what decides whether the next one runs. */
export interface SimpleCommand {
  readonly words: readonly string[];
  readonly redirects: readonly Redirect[];
  readonly joinedBy: ';' | '&&' | '||';
}

/** A script may have so many characters to be read at all. */
const longest = 16 << 10;

/** What is more to a shell than a character of a word. */
const special = /[`$*?[\](){}|&;<>~!\\'"#\n]/;
const blank = /[ \t\r]/;
const redirect = /^>>?[ \t]*(&[12]|[\w./-]+)/;
const variable = /^\$(?:\{(\w+)\}|([A-Za-z_]\w*))/;

/** A script that is more than a list of commands. */
class NotPlain extends Error {}

class Reader {
  readonly #text: string;
  readonly #valueOf: (name: string) => string | undefined;
  readonly #commands: SimpleCommand[] = [];
  #at = 0;
  #words: string[] = [];
  #redirects: Redirect[] = [];
  #word: string | undefined;

  constructor(text: string, valueOf: (name: string) => string | undefined) {
    this.#text = text;
    this.#valueOf = valueOf;
  }

  read(): readonly SimpleCommand[] {
    while (this.#at < this.#text.length) this.#step();
    this.#end(';');
    return this.#commands;
  }

  #step(): void {
    const character = this.#text[this.#at]!;
    if (blank.test(character)) return this.#endWord(1);
    const rest = this.#text.slice(this.#at, this.#at + 256);
    if (character === '>') return this.#redirect(rest);
    if (character === '\n' || character === ';') return this.#separator(';', 1);
    if (rest.startsWith('&&') || rest.startsWith('||')) return this.#separator(rest.slice(0, 2) as '&&' | '||', 2);
    if (character === '#' && this.#word === undefined) return this.#comment();
    if (character === "'") return this.#quoted();
    if (character === '"') return this.#doubleQuoted();
    if (character === '\\') return this.#escaped();
    if (character === '$') return this.#variable();
    if (this.#word !== undefined && /[#!]/.test(character)) return this.#add(character);
    if (special.test(character)) throw new NotPlain();
    this.#add(character);
  }

  #redirect(rest: string): void {
    const [all, to] = redirect.exec(rest) ?? [];
    if (!to) throw new NotPlain();
    const isNumbered = this.#word === '1' || this.#word === '2';
    this.#redirects.push({from: isNumbered && this.#word === '2' ? 2 : 1, to});
    if (isNumbered) this.#word = undefined;
    this.#endWord(all!.length);
  }

  #add(text: string, length = text.length): void {
    this.#word = (this.#word ?? '') + text;
    this.#at += length;
  }

  #endWord(length: number): void {
    if (this.#word !== undefined) this.#words.push(this.#word);
    this.#word = undefined;
    this.#at += length;
  }

  #separator(joinedBy: SimpleCommand['joinedBy'], length: number): void {
    this.#endWord(length);
    this.#end(joinedBy);
  }

  #end(joinedBy: SimpleCommand['joinedBy']): void {
    this.#endWord(0);
    if (this.#words.length > 0) this.#commands.push({words: this.#words, redirects: this.#redirects, joinedBy});
    else if (joinedBy !== ';' || this.#redirects.length > 0) throw new NotPlain();
    this.#words = [];
    this.#redirects = [];
  }

  #comment(): void {
    const end = this.#text.indexOf('\n', this.#at);
    this.#at = end < 0 ? this.#text.length : end;
  }

  #quoted(): void {
    const end = this.#text.indexOf("'", this.#at + 1);
    if (end < 0) throw new NotPlain();
    this.#add(this.#text.slice(this.#at + 1, end), end + 1 - this.#at);
  }

  #doubleQuoted(): void {
    this.#add('', 1);
    for (;;) {
      const character = this.#text[this.#at];
      if (character === undefined || character === '`') throw new NotPlain();
      if (character === '"') return void this.#at++;
      if (character === '$') this.#variable();
      else if (character === '\\' && /["$`\\\n]/.test(this.#text[this.#at + 1] ?? '')) this.#escaped();
      else this.#add(character);
    }
  }

  #escaped(): void {
    const next = this.#text[this.#at + 1];
    if (next === undefined) throw new NotPlain();
    if (next === '\n') this.#at += 2;
    else this.#add(next, 2);
  }

  #variable(): void {
    if (!/[\w{(?@*#!$'-]/.test(this.#text[this.#at + 1] ?? '')) return this.#add('$');
    const [all, braced, bare] = variable.exec(this.#text.slice(this.#at, this.#at + 256)) ?? [];
    const value = all === undefined ? undefined : this.#valueOf((braced ?? bare)!);
    if (value === undefined) throw new NotPlain();
    this.#add(value, all!.length);
  }
}

/** The commands of a script that is no more than a list of them, with the values of variables put in; undefined for any other: with pipes, loops, patterns, or values nobody knows. */
export const plainCommands = (text: string, valueOf: (name: string) => string | undefined): readonly SimpleCommand[] | undefined => {
  if (text.length > longest) return undefined;
  try {
    return new Reader(text, valueOf).read();
  } catch (error) {
    if (error instanceof NotPlain) return undefined;
    throw error;
  }
};
