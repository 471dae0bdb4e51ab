import {badRequest, type StatusError} from '#src/api/status.js';
import type {FieldError} from '#src/api/field-error.js';
import {tokens, type Lexeme} from './label-lexer.js';
import {keyError, requirementErrors, type LabelOperator, type LabelRequirement} from './requirement.js';

const binaryOperators = 'in, notin, =, ==, !=, gt, lt';

const aggregate = (errors: readonly FieldError[]): string => {
  const texts = [...new Set(errors.map(({path, detail}) => `${path}: ${detail}`))];
  return texts.length === 1 ? (texts[0] ?? '') : `[${texts.join(', ')}]`;
};

/** Returns the requirement. Throws a 400 if it is invalid. */
export const checkedRequirement = (of: LabelRequirement): LabelRequirement => {
  const errors = [...requirementErrors(of)];
  if (errors.length > 0) throw badRequest(aggregate(errors));
  return of;
};

/**
 * Reads the grammar `req ("," req)*` by recursive descent; every failure names what was found and what was expected.
 */
export class LabelParser {
  readonly #lexemes: readonly Lexeme[];
  #at = 0;

  constructor(text: string) {
    this.#lexemes = tokens(text);
  }

  parse(): LabelRequirement[] {
    const found: LabelRequirement[] = [];
    for (;;) {
      const {token, text} = this.#peek();
      if (token === 'end') return found;
      if (token !== 'identifier' && token !== '!') throw badRequest(`found '${text}', expected: !, identifier, or 'end of string'`);
      found.push(this.#namedRequirement());
      const after = this.#take();
      if (after.token === 'end') return found;
      if (after.token !== ',') throw badRequest(`found '${after.text}', expected: ',' or 'end of string'`);
      const following = this.#peek();
      if (following.token !== 'identifier' && following.token !== '!')
        throw badRequest(`found '${following.text}', expected: identifier after ','`);
    }
  }

  /** Operator names are identifiers except where an operator is expected. */
  #peek(): Lexeme {
    const lexeme = this.#lexemes[this.#at] ?? {token: 'end', text: ''};
    return lexeme.token === 'in' || lexeme.token === 'notin' ? {token: 'identifier', text: lexeme.text} : lexeme;
  }

  #take(): Lexeme {
    const lexeme = this.#peek();
    this.#at += 1;
    return lexeme;
  }

  #namedRequirement(): LabelRequirement {
    try {
      return this.#requirement();
    } catch (error) {
      throw badRequest(`unable to parse requirement: ${(error as StatusError).message}`, error);
    }
  }

  #requirement(): LabelRequirement {
    const absent = this.#peek().token === '!';
    if (absent) this.#take();
    const {token, text: key} = this.#take();
    if (token !== 'identifier') throw badRequest(`found '${key}', expected: identifier`);
    const wrong = keyError(key, '<nil>');
    if (wrong) throw badRequest(aggregate([wrong]));
    if (absent) return checkedRequirement({key, operator: '!', values: []});
    const ends = this.#peek().token === 'end' || this.#peek().token === ',';
    if (ends) return checkedRequirement({key, operator: 'exists', values: []});
    const operator = this.#operator();
    const values = operator === 'in' || operator === 'notin' ? this.#values() : [this.#exactValue()];
    // Nobody has one of no values. What objects say is held to more.
    if (values.length === 0) return {key, operator, values};
    return checkedRequirement({key, operator, values: [...new Set(values)].sort()});
  }

  #operator(): LabelOperator {
    const {token, text} = this.#lexemes[this.#at] ?? {token: 'end', text: ''};
    this.#at += 1;
    switch (token) {
      case 'in':
      case 'notin':
      case '=':
      case '==':
      case '!=':
        return token;
      case '>':
        return 'gt';
      case '<':
        return 'lt';
      default:
        throw badRequest(`found '${text}', expected: ${binaryOperators}`);
    }
  }

  #exactValue(): string {
    const {token} = this.#peek();
    if (token === 'end' || token === ',') return '';
    const taken = this.#take();
    if (taken.token !== 'identifier') throw badRequest(`found '${taken.text}', expected: identifier`);
    return taken.text;
  }

  #values(): string[] {
    const open = this.#take();
    if (open.token !== '(') throw badRequest(`found '${open.text}' expected: '('`);
    const {token, text} = this.#peek();
    if (token === ')') {
      this.#take();
      return [];
    }
    if (token !== 'identifier' && token !== ',') throw badRequest(`found '${text}', expected: ',', ')' or identifier`);
    const values = this.#list();
    this.#take();
    return values;
  }

  /** Stops before the closing parenthesis. A comma without a neighbour stands for the empty value. */
  #list(): string[] {
    const found: string[] = [];
    for (;;) {
      const {token, text} = this.#take();
      const following = this.#peek();
      if (token === 'identifier') {
        found.push(text);
        if (following.token === ')') return found;
        if (following.token !== ',') throw badRequest(`found '${following.text}', expected: ',' or ')'`);
      } else if (token === ',') {
        if (found.length === 0) found.push('');
        if (following.token === ')') return [...found, ''];
        if (following.token === ',') {
          this.#take();
          found.push('');
        }
      } else {
        throw badRequest(`found '${text}', expected: ',', or identifier`);
      }
    }
  }
}
