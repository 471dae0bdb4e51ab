/** A redirection of one output: to the other one, to the termination message, or discarded. */
export interface Redirect {
  readonly from: 1 | 2;
  readonly to: string;
}

/** A command with its arguments, and the operator before the next one. */
export interface SimpleCommand {
  readonly words: readonly string[];
  readonly redirects: readonly Redirect[];
  readonly joinedBy: ';' | '&&' | '||';
}

/** The maximum length of a script. */
const maxScriptLength = 16 << 10;

/** Shell metacharacters. */
const specialCharacter = /[`$*?[\](){}|&;<>~!\\'"#\n]/;
const blank = /[ \t\r]/;
const redirect = /^>>?[ \t]*(&[12]|[\w./-]+)/;
const variable = /^\$(?:\{(\w+)\}|([A-Za-z_]\w*))/;

/** Thrown for a script that is more than a list of commands. */
class UnsupportedSyntax extends Error {}

class ScriptParser {
  readonly #text: string;
  readonly #valueOf: (name: string) => string | undefined;
  readonly #commands: SimpleCommand[] = [];
  #position = 0;
  #words: string[] = [];
  #redirects: Redirect[] = [];
  #word: string | undefined;

  constructor(text: string, valueOf: (name: string) => string | undefined) {
    this.#text = text;
    this.#valueOf = valueOf;
  }

  parse(): readonly SimpleCommand[] {
    while (this.#position < this.#text.length) this.#parseNext();
    this.#end(';');
    return this.#commands;
  }

  #parseNext(): void {
    const character = this.#text[this.#position]!;
    if (blank.test(character)) return this.#endWord(1);
    const rest = this.#text.slice(this.#position, this.#position + 256);
    if (character === '>') return this.#redirect(rest);
    if (character === '\n' || character === ';') return this.#separator(';', 1);
    if (rest.startsWith('&&') || rest.startsWith('||')) return this.#separator(rest.slice(0, 2) as '&&' | '||', 2);
    if (character === '#' && this.#word === undefined) return this.#comment();
    if (character === "'") return this.#quoted();
    if (character === '"') return this.#doubleQuoted();
    if (character === '\\') return this.#escaped();
    if (character === '$') return this.#variable();
    if (this.#word !== undefined && /[#!]/.test(character)) return this.#add(character);
    if (specialCharacter.test(character)) throw new UnsupportedSyntax();
    this.#add(character);
  }

  #redirect(rest: string): void {
    const [all, to] = redirect.exec(rest) ?? [];
    if (!to) throw new UnsupportedSyntax();
    const isNumbered = this.#word === '1' || this.#word === '2';
    this.#redirects.push({from: isNumbered && this.#word === '2' ? 2 : 1, to});
    if (isNumbered) this.#word = undefined;
    this.#endWord(all!.length);
  }

  #add(text: string, length = text.length): void {
    this.#word = (this.#word ?? '') + text;
    this.#position += length;
  }

  #endWord(length: number): void {
    if (this.#word !== undefined) this.#words.push(this.#word);
    this.#word = undefined;
    this.#position += length;
  }

  #separator(joinedBy: SimpleCommand['joinedBy'], length: number): void {
    this.#endWord(length);
    this.#end(joinedBy);
  }

  #end(joinedBy: SimpleCommand['joinedBy']): void {
    this.#endWord(0);
    if (this.#words.length > 0) this.#commands.push({words: this.#words, redirects: this.#redirects, joinedBy});
    else if (joinedBy !== ';' || this.#redirects.length > 0) throw new UnsupportedSyntax();
    this.#words = [];
    this.#redirects = [];
  }

  #comment(): void {
    const end = this.#text.indexOf('\n', this.#position);
    this.#position = end < 0 ? this.#text.length : end;
  }

  #quoted(): void {
    const end = this.#text.indexOf("'", this.#position + 1);
    if (end < 0) throw new UnsupportedSyntax();
    this.#add(this.#text.slice(this.#position + 1, end), end + 1 - this.#position);
  }

  #doubleQuoted(): void {
    this.#add('', 1);
    for (;;) {
      const character = this.#text[this.#position];
      if (character === undefined || character === '`') throw new UnsupportedSyntax();
      if (character === '"') return void this.#position++;
      if (character === '$') this.#variable();
      else if (character === '\\' && /["$`\\\n]/.test(this.#text[this.#position + 1] ?? '')) this.#escaped();
      else this.#add(character);
    }
  }

  #escaped(): void {
    const next = this.#text[this.#position + 1];
    if (next === undefined) throw new UnsupportedSyntax();
    if (next === '\n') this.#position += 2;
    else this.#add(next, 2);
  }

  #variable(): void {
    if (!/[\w{(?@*#!$'-]/.test(this.#text[this.#position + 1] ?? '')) return this.#add('$');
    const [all, braced, bare] = variable.exec(this.#text.slice(this.#position, this.#position + 256)) ?? [];
    const value = all === undefined ? undefined : this.#valueOf((braced ?? bare)!);
    if (value === undefined) throw new UnsupportedSyntax();
    this.#add(value, all!.length);
  }
}

/** Parses a script that is a list of commands, with variables replaced. Returns undefined for any other script: with pipes, loops, patterns, or unknown values. */
export const parseCommandList = (text: string, valueOf: (name: string) => string | undefined): readonly SimpleCommand[] | undefined => {
  if (text.length > maxScriptLength) return undefined;
  try {
    return new ScriptParser(text, valueOf).parse();
  } catch (error) {
    if (error instanceof UnsupportedSyntax) return undefined;
    throw error;
  }
};
