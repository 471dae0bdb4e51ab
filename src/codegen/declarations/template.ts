import type {Place, TypeNode} from './syntax.js';

/**
 * Returns the node of a template literal type: its texts and the types between them, read by a parser of their own.
 * `text` has the backticks.
 */
export const templateParts = (text: string, at: Place, parserOf: (text: string) => {type(): TypeNode}): TypeNode => {
  const texts: string[] = [];
  const types: TypeNode[] = [];
  let start = 1;
  for (let from = text.indexOf('${', start); from >= 0; from = text.indexOf('${', start)) {
    let depth = 1;
    let end = from + 2;
    for (; end < text.length && depth > 0; end++) depth += text[end] === '{' ? 1 : text[end] === '}' ? -1 : 0;
    texts.push(text.slice(start, from));
    types.push({...parserOf(text.slice(from + 2, end - 1)).type(), at});
    start = end;
  }
  return {is: 'template', texts: [...texts, text.slice(start, -1)], types, at};
};
