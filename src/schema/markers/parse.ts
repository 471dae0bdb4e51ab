import type {PatchStrategy, Union} from '#src/schema/node.js';

/** The parsed markers of one field. */
export interface FieldMarkers {
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
  /** The required fields in order. */
  readonly requiredOrder?: readonly string[];
  /** Optional scalars for which empty differs from absent. */
  readonly pointers?: readonly string[];
  /** Optional lists for which empty differs from absent. */
  readonly kept?: readonly string[];
  /** An empty value is not shown, whatever absence means. */
  readonly omitted?: boolean;
  /** An empty value is shown only in the metadata of the whole object. */
  readonly outermost?: boolean;
  /** An absent value is shown as null. */
  readonly null?: boolean;
  /** A reference without a description. */
  readonly bare?: boolean;
}

const unionOf = (text: string): Union => {
  const [discriminator = '', fields = ''] = text.split(';');
  return {discriminator, fields: Object.fromEntries(fields.split(',').map(pair => pair.split('=') as [string, string]))};
};

const patchOf = (text: string): Pick<FieldMarkers, 'patchStrategy' | 'patchMergeKey'> => {
  const [, strategies = '', key] = /^([a-zA-Z,]+)(?:\((\w+)\))?$/.exec(text) ?? [];
  return {patchStrategy: strategies.split(',') as PatchStrategy[], ...(key ? {patchMergeKey: key} : {})};
};

const inParentheses = (marker: string): string => marker.slice(marker.indexOf('(') + 1, -1);

const parseMarker = (marker: string, isMap: boolean): FieldMarkers => {
  if (marker.startsWith(':')) return {type: marker.slice(1)};
  if (marker.startsWith('=')) return {default: {json: JSON.parse(marker.slice(1)) as unknown}};
  if (marker.startsWith('patch=')) return patchOf(marker.slice('patch='.length));
  if (marker.startsWith('map(')) return {listType: 'map', listMapKeys: inParentheses(marker).split(',')};
  if (marker.startsWith('required(')) return {requiredOrder: inParentheses(marker).split(',')};
  if (marker.startsWith('pointers(')) return {pointers: inParentheses(marker).split(',')};
  if (marker.startsWith('kept(')) return {kept: inParentheses(marker).split(',')};
  if (marker.startsWith('union(')) return {union: unionOf(inParentheses(marker))};
  switch (marker) {
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
    case 'outermost':
      return {outermost: true};
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
      throw new Error(`unknown marker "${marker}"`);
  }
};

/** Parses the markers of a field; `isMap` reports whether a type is a map or struct rather than a list. */
export const parseMarkers = (text: string | undefined, isMap: (type: string | undefined) => boolean): FieldMarkers => {
  if (!text) return {};
  const list = text.split(' ');
  const type = list.find(marker => marker.startsWith(':'))?.slice(1);
  return Object.assign({}, ...list.map(marker => parseMarker(marker, isMap(type)))) as FieldMarkers;
};
