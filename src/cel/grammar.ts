import type {TokenKind} from './tokens.js';

/** A part of a rule: one of some tokens, a rule, parts in a row, one of some parts, or a part that may be left out or repeated. */
export type Part =
  | {readonly kind: 'token'; readonly of: readonly TokenKind[]}
  | {readonly kind: 'rule'; readonly name: RuleName}
  | {readonly kind: 'row' | 'choice'; readonly parts: readonly Part[]}
  | {readonly kind: 'option' | 'star' | 'plus'; readonly part: Part};

const token = (...of: readonly TokenKind[]): Part => ({kind: 'token', of});
const rule = (name: RuleName): Part => ({kind: 'rule', name});
const row = (...parts: readonly Part[]): Part => ({kind: 'row', parts});
const choice = (...parts: readonly Part[]): Part => ({kind: 'choice', parts});
const option = (part: Part): Part => ({kind: 'option', part});
const star = (part: Part): Part => ({kind: 'star', part});
const plus = (part: Part): Part => ({kind: 'plus', part});

const dot = option(token('.'));
const comma = option(token(','));
const mark = option(token('?'));
const expr = rule('expr');

export type RuleName =
  | 'start' | 'expr' | 'or' | 'and' | 'relation' | 'relationTerm' | 'calc' | 'calcTerm' | 'unary' | 'member' | 'primary' | 'exprList' | 'listInit' | 'fields' | 'field'
  | 'entries' | 'escapeIdent' | 'optExpr' | 'literal';

/** The published grammar of the language (cel-spec, doc/langdef.md). Only the problems of broken expressions are found with it. */
export const grammar: Readonly<Record<RuleName, Part>> = {
  start: row(expr, token('EOF')),
  expr: row(rule('or'), option(row(token('?'), rule('or'), token(':'), expr))),
  or: row(rule('and'), star(row(token('||'), rule('and')))),
  and: row(rule('relation'), star(row(token('&&'), rule('relation')))),
  relation: row(rule('calc'), star(row(token('<', '<=', '>=', '>', '==', '!=', 'in'), rule('relationTerm')))),
  relationTerm: rule('calc'),
  calc: row(rule('unary'), star(choice(row(token('*', '/', '%'), rule('calcTerm')), row(token('+', '-'), rule('calcTerm'))))),
  calcTerm: rule('unary'),
  unary: choice(rule('member'), row(plus(token('!')), rule('member')), row(plus(token('-')), rule('member'))),
  member: row(
    rule('primary'),
    star(
      choice(
        row(token('.'), mark, rule('escapeIdent')),
        row(token('.'), token('IDENTIFIER'), token('('), option(rule('exprList')), token(')')),
        row(token('['), mark, expr, token(']')),
      ),
    ),
  ),
  primary: choice(
    row(dot, token('IDENTIFIER')),
    row(dot, token('IDENTIFIER'), token('('), option(rule('exprList')), token(')')),
    row(token('('), expr, token(')')),
    row(token('['), option(rule('listInit')), comma, token(']')),
    row(token('{'), option(rule('entries')), comma, token('}')),
    row(dot, token('IDENTIFIER'), star(row(token('.'), token('IDENTIFIER'))), token('{'), option(rule('fields')), comma, token('}')),
    rule('literal'),
  ),
  exprList: row(expr, star(row(token(','), expr))),
  listInit: row(rule('optExpr'), star(row(token(','), rule('optExpr')))),
  fields: row(rule('field'), token(':'), expr, star(row(token(','), rule('field'), token(':'), expr))),
  field: row(mark, rule('escapeIdent')),
  entries: row(rule('optExpr'), token(':'), expr, star(row(token(','), rule('optExpr'), token(':'), expr))),
  escapeIdent: choice(token('IDENTIFIER'), token('ESC_IDENTIFIER')),
  optExpr: row(mark, expr),
  literal: choice(
    row(option(token('-')), token('INT')),
    token('UINT'),
    row(option(token('-')), token('FLOAT')),
    token('STRING'),
    token('BYTES'),
    token('true'),
    token('false'),
    token('null'),
  ),
};
