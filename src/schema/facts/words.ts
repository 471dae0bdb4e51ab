import type {PatchStrategy, Union} from '#src/schema/node.js';

/** The words of one field's facts, understood. */
export interface FieldFacts {
  readonly type?: string;
  readonly required?: boolean;
  readonly removed?: boolean;
  readonly listType?: 'atomic' | 'set' | 'map';
  readonly listMapKeys?: readonly string[];
  readonly mapType?: 'atomic' | 'granular';
  readonly patchStrategy?: readonly PatchStrategy[];
  readonly patchMergeKey?: string;
  readonly default?: 'none' | 'zero' | {readonly json: unknown};
  readonly union?: Union;
  /** The required fields, in their order. */
  readonly requiredOrder?: readonly string[];
  /** Optional scalars for which an empty value is not the same as none. */
  readonly pointers?: readonly string[];
  /** Optional lists for which an empty one is not the same as none. */
  readonly kept?: readonly string[];
  /** An empty value is not shown, whatever an absent one stands for. */
  readonly omitted?: boolean;
  /** An absent value is shown as null. */
  readonly null?: boolean;
  /** A reference without words of its own beside it. */
  readonly bare?: boolean;
}

const unionOf = (text: string): Union => {
  const [discriminator = '', fields = ''] = text.split(';');
  return {discriminator, fields: Object.fromEntries(fields.split(',').map(pair => pair.split('=') as [string, string]))};
};

const patchOf = (text: string): Pick<FieldFacts, 'patchStrategy' | 'patchMergeKey'> => {
  const [, strategies = '', key] = /^([a-zA-Z,]+)(?:\((\w+)\))?$/.exec(text) ?? [];
  return {patchStrategy: strategies.split(',') as PatchStrategy[], ...(key ? {patchMergeKey: key} : {})};
};

const inParentheses = (word: string): string => word.slice(word.indexOf('(') + 1, -1);

const factOf = (word: string, isMap: boolean): FieldFacts => {
  if (word.startsWith(':')) return {type: word.slice(1)};
  if (word.startsWith('=')) return {default: {json: JSON.parse(word.slice(1)) as unknown}};
  if (word.startsWith('patch=')) return patchOf(word.slice('patch='.length));
  if (word.startsWith('map(')) return {listType: 'map', listMapKeys: inParentheses(word).split(',')};
  if (word.startsWith('required(')) return {requiredOrder: inParentheses(word).split(',')};
  if (word.startsWith('pointers(')) return {pointers: inParentheses(word).split(',')};
  if (word.startsWith('kept(')) return {kept: inParentheses(word).split(',')};
  if (word.startsWith('union(')) return {union: unionOf(inParentheses(word))};
  switch (word) {
    case 'required':
      return {required: true};
    case 'optional':
      return {required: false};
    case 'removed':
      return {removed: true};
    case 'value':
      return {default: 'zero'};
    case 'none':
      return {default: 'none'};
    case 'omitted':
      return {omitted: true};
    case 'null':
      return {null: true};
    case 'bare':
      return {bare: true};
    case 'set':
      return {listType: 'set'};
    case 'granular':
      return {mapType: 'granular'};
    case 'atomic':
      return isMap ? {mapType: 'atomic'} : {listType: 'atomic'};
    default:
      throw new Error(`the facts know no word "${word}"`);
  }
};

/** Reads the words of a field's facts; `isMap` says whether it is a map or struct rather than a list. */
export const fieldFacts = (words: string | undefined, isMap: (type: string | undefined) => boolean): FieldFacts => {
  if (!words) return {};
  const list = words.split(' ');
  const type = list.find(word => word.startsWith(':'))?.slice(1);
  return Object.assign({}, ...list.map(word => factOf(word, isMap(type)))) as FieldFacts;
};
