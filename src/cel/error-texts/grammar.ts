import type {TokenKind} from '#src/cel/syntax/tokens.js';

/**
 * A part of a rule: one of some tokens, a rule, parts in a row, one of some parts, or a part that may be left out or
 * repeated.
 */
export type Part =
  | {readonly kind: 'token'; readonly of: readonly TokenKind[]}
  | {readonly kind: 'rule'; readonly name: RuleName}
  | {readonly kind: 'row' | 'choice'; readonly parts: readonly Part[]}
  | {readonly kind: 'option' | 'star' | 'plus'; readonly part: Part};

const token = (...of: readonly TokenKind[]): Part => ({kind: 'token', of});
const rule = (name: RuleName): Part => ({kind: 'rule', name});
const sequence = (...parts: readonly Part[]): Part => ({kind: 'row', parts});
const choice = (...parts: readonly Part[]): Part => ({kind: 'choice', parts});
const option = (part: Part): Part => ({kind: 'option', part});
const star = (part: Part): Part => ({kind: 'star', part});
const plus = (part: Part): Part => ({kind: 'plus', part});

const dot = option(token('.'));
const comma = option(token(','));
const mark = option(token('?'));
const expr = rule('expr');

export type RuleName =
  | 'start'
  | 'expr'
  | 'or'
  | 'and'
  | 'relation'
  | 'relationTerm'
  | 'calc'
  | 'calcTerm'
  | 'unary'
  | 'member'
  | 'primary'
  | 'exprList'
  | 'listInit'
  | 'fields'
  | 'field'
  | 'entries'
  | 'escapeIdent'
  | 'optExpr'
  | 'literal';

/**
 * The published grammar of the language (cel-spec, doc/langdef.md). It is used only to report syntax errors; valid
 * expressions are parsed by parse.ts.
 */
export const grammar: Readonly<Record<RuleName, Part>> = {
  start: sequence(expr, token('EOF')),
  expr: sequence(rule('or'), option(sequence(token('?'), rule('or'), token(':'), expr))),
  or: sequence(rule('and'), star(sequence(token('||'), rule('and')))),
  and: sequence(rule('relation'), star(sequence(token('&&'), rule('relation')))),
  relation: sequence(rule('calc'), star(sequence(token('<', '<=', '>=', '>', '==', '!=', 'in'), rule('relationTerm')))),
  relationTerm: rule('calc'),
  calc: sequence(
    rule('unary'),
    star(choice(sequence(token('*', '/', '%'), rule('calcTerm')), sequence(token('+', '-'), rule('calcTerm')))),
  ),
  calcTerm: rule('unary'),
  unary: choice(rule('member'), sequence(plus(token('!')), rule('member')), sequence(plus(token('-')), rule('member'))),
  member: sequence(
    rule('primary'),
    star(
      choice(
        sequence(token('.'), mark, rule('escapeIdent')),
        sequence(token('.'), token('IDENTIFIER'), token('('), option(rule('exprList')), token(')')),
        sequence(token('['), mark, expr, token(']')),
      ),
    ),
  ),
  primary: choice(
    sequence(dot, token('IDENTIFIER')),
    sequence(dot, token('IDENTIFIER'), token('('), option(rule('exprList')), token(')')),
    sequence(token('('), expr, token(')')),
    sequence(token('['), option(rule('listInit')), comma, token(']')),
    sequence(token('{'), option(rule('entries')), comma, token('}')),
    sequence(
      dot,
      token('IDENTIFIER'),
      star(sequence(token('.'), token('IDENTIFIER'))),
      token('{'),
      option(rule('fields')),
      comma,
      token('}'),
    ),
    rule('literal'),
  ),
  exprList: sequence(expr, star(sequence(token(','), expr))),
  listInit: sequence(rule('optExpr'), star(sequence(token(','), rule('optExpr')))),
  fields: sequence(rule('field'), token(':'), expr, star(sequence(token(','), rule('field'), token(':'), expr))),
  field: sequence(mark, rule('escapeIdent')),
  entries: sequence(rule('optExpr'), token(':'), expr, star(sequence(token(','), rule('optExpr'), token(':'), expr))),
  escapeIdent: choice(token('IDENTIFIER'), token('ESC_IDENTIFIER')),
  optExpr: sequence(mark, expr),
  literal: choice(
    sequence(option(token('-')), token('INT')),
    token('UINT'),
    sequence(option(token('-')), token('FLOAT')),
    token('STRING'),
    token('BYTES'),
    token('true'),
    token('false'),
    token('null'),
  ),
};
