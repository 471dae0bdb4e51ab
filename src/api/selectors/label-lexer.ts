/** A token of the label selector grammar. */
export type Token = 'identifier' | 'in' | 'notin' | '=' | '==' | '!=' | '!' | '(' | ')' | ',' | '>' | '<' | 'end';

export interface Lexeme {
  readonly token: Token;
  readonly text: string;
}

const symbols = /^(?:==|!=|[=!(),<>])/;
const word = /^[^=!(),<>\s\0]+/;

const next = (rest: string): Lexeme => {
  const symbol = symbols.exec(rest)?.[0];
  if (symbol) return {token: symbol as Token, text: symbol};
  const text = word.exec(rest)?.[0];
  if (!text) return {token: 'end', text: ''};
  return {token: text === 'in' || text === 'notin' ? text : 'identifier', text};
};

/** The tokens of a selector; the last one is always `end`. */
export const tokens = (text: string): Lexeme[] => {
  const found: Lexeme[] = [];
  for (let rest = text; ;) {
    rest = rest.replace(/^[ \t\r\n]+/, '');
    const lexeme = next(rest);
    found.push(lexeme);
    if (lexeme.token === 'end') return found;
    rest = rest.slice(lexeme.text.length);
  }
};
