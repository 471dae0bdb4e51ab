// The options of lists, watches and writes in the query of a request. They are checked as a whole before any of them
// takes effect.

import {forbiddenField, invalid, invalidObject, notSupported, required, tooLong, type FieldError} from '#src/api/field-error.js';
import {collectErrors} from '#src/api/collect-errors.js';
import type {Naming} from '#src/api/naming.js';
import {parseFieldSelector, type FieldSelector} from '#src/api/selectors/field-selector.js';
import {parseLabelSelector, type LabelSelector} from '#src/api/selectors/label-selector.js';
import {badRequest, plainFailure} from '#src/api/status.js';
import {truthy} from '#src/apiserver/request/request-info.js';

/** The options of a list, watch or collection delete. */
export interface ListOptions {
  readonly labels: LabelSelector;
  readonly fields: FieldSelector;
  readonly limit: number;
  readonly continue: string;
  /** Undefined: the newest; zero: any. */
  readonly resourceVersion: number | undefined;
  readonly match: '' | 'Exact' | 'NotOlderThan';
  readonly timeoutSeconds: number | undefined;
  readonly bookmarks: boolean;
  readonly sendInitialEvents: boolean | undefined;
}

/** Returns an integer parameter of the query. Throws 400 for other values. */
export const integerParameter = (query: URLSearchParams, name: string): number | undefined => {
  const text = query.get(name);
  if (text === null) return undefined;
  if (!/^[+-]?\d+$/.test(text)) throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`);
  if (BigInt.asIntN(64, BigInt(text)) !== BigInt(text))
    throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: value out of range`);
  return Number(text);
};

/** Returns the resourceVersion parameter of a list. Throws 400 for an invalid one. */
export const parseResourceVersion = (text: string | null): number | undefined =>
  parsedVersion(text, error => badRequest(`invalid resource version: resourceVersion: Invalid value: ${JSON.stringify(text)}: ${error}`));

/** Returns the resourceVersion parameter of a get or watch. Throws 500 for an invalid one, as the original does. */
export const parseExactVersion = (text: string | null): number | undefined =>
  parsedVersion(text, error => plainFailure(`resourceVersion: Invalid value: ${JSON.stringify(text)}: ${error}`));

/** Returns the resourceVersion in an object. Throws 500 for an invalid one, as the original does. */
export const parseObjectVersion = (text: string | undefined): number | undefined => parsedVersion(text, plainFailure);

/** Numbers of so many digits are held exactly. */
const exactDigits = 15;

const parsedVersion = (text: string | null | undefined, refuse: (error: string) => Error): number | undefined => {
  if (!text) return undefined;
  const refused = (reason: string) => refuse(`strconv.ParseUint: parsing ${JSON.stringify(text)}: ${reason}`);
  if (!/^\d+$/.test(text)) throw refused('invalid syntax');
  if (text.length > exactDigits && BigInt.asUintN(64, BigInt(text)) !== BigInt(text)) throw refused('value out of range');
  return Number(text);
};

/** Throws 422 if there are errors. */
const rejectInvalidOptions = (naming: Naming, kind: string, found: Iterable<FieldError>): void => {
  const errors = collectErrors(found);
  if (errors.length > 0) throw invalidObject({group: naming.group('meta'), kind}, '', errors);
};

/** The registry settings that the validation of options depends on. */
interface OptionSettings {
  readonly naming: Naming;
  gate(name: string): boolean;
}

/**
 * Returns the options of a list or watch (the API reference, resource versions). Throws 400 or 422 for invalid ones.
 */
export const parseListOptions = ({naming, gate}: OptionSettings, query: URLSearchParams, watch: boolean): ListOptions => {
  const match = query.get('resourceVersionMatch') ?? '';
  const version = query.get('resourceVersion') ?? '';
  const token = query.get('continue') ?? '';
  const initial = query.has('sendInitialEvents') ? truthy(query.get('sendInitialEvents')) : undefined;
  const streams = gate('WatchList');
  // A watch without a version starts with the present state, so it is treated as one that requests initial events.
  const legacy = watch && streams && initial === undefined && match === '' && (version === '' || version === '0');
  rejectInvalidOptions(
    naming,
    'ListOptions',
    watch
      ? watchErrors(legacy ? 'NotOlderThan' : match, token, legacy ? true : initial, streams)
      : listErrors(match, version, token, initial),
  );
  const limit = integerParameter(query, 'limit') ?? 0;
  const resourceVersion = watch ? parseExactVersion(version) : parseResourceVersion(version);
  return {
    labels: parseLabelSelector(query.get('labelSelector') ?? ''),
    fields: parseFieldSelector(query.get('fieldSelector') ?? ''),
    limit: Math.max(0, limit),
    continue: token,
    resourceVersion,
    match: match as ListOptions['match'],
    timeoutSeconds: integerParameter(query, 'timeoutSeconds'),
    bookmarks: truthy(query.get('allowWatchBookmarks')),
    sendInitialEvents: legacy ? true : initial,
  };
};

function* listErrors(match: string, version: string, token: string, initial: boolean | undefined): Generator<FieldError> {
  if (match !== '') {
    if (version === '')
      yield forbiddenField('resourceVersionMatch', 'resourceVersionMatch is forbidden unless resourceVersion is provided');
    if (token !== '') yield forbiddenField('resourceVersionMatch', 'resourceVersionMatch is forbidden when continue is provided');
    if (match !== 'Exact' && match !== 'NotOlderThan') yield notSupported('resourceVersionMatch', match, ['Exact', 'NotOlderThan', '']);
    if (match === 'Exact' && version === '0')
      yield forbiddenField('resourceVersionMatch', 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"');
  }
  if (initial !== undefined) yield forbiddenField('sendInitialEvents', 'sendInitialEvents is forbidden for list');
}

function* watchErrors(match: string, token: string, initial: boolean | undefined, streams: boolean): Generator<FieldError> {
  if (initial !== undefined) {
    if (match !== 'NotOlderThan')
      yield forbiddenField('resourceVersionMatch', 'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan');
    if (!streams)
      yield forbiddenField('sendInitialEvents', 'sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled');
  }
  if (match === '') return;
  if (initial === undefined)
    yield forbiddenField('resourceVersionMatch', 'resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided');
  if (match !== 'NotOlderThan') yield notSupported('resourceVersionMatch', match, ['NotOlderThan']);
  if (token !== '') yield forbiddenField('resourceVersionMatch', 'resourceVersionMatch is forbidden when continue is provided');
}

/** The options of a write in the query. */
export interface WriteQuery {
  readonly dryRun: boolean;
  readonly fieldManager: string;
  readonly fieldValidation: 'Ignore' | 'Warn' | 'Strict';
  /** Whether an apply takes over fields that other managers own. */
  readonly force: boolean;
}

/** Yields the error of an invalid `dryRun`. The message shows the values as a list. */
export function* dryRunErrors(values: readonly string[]): Generator<FieldError> {
  if (values.some(value => value !== 'All')) yield notSupported('dryRun', values, ['All']);
}

const longestManager = 128;
/** Characters that are neither visible nor a plain space. */
const unprintable = /(?! )[\p{C}\p{Z}]/u;

function* managerErrors(manager: string): Generator<FieldError> {
  if (Buffer.byteLength(manager) > longestManager) yield tooLong('fieldManager', longestManager);
  const found = unprintable.exec(manager);
  if (found)
    yield invalid(
      'fieldManager',
      manager,
      `invalid character U+${found[0].codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')} (at position ${Buffer.byteLength(manager.slice(0, found.index))})`,
    );
}

const validations = ['', 'Ignore', 'Strict', 'Warn'];

function* writeErrors(query: URLSearchParams, kind: string, applies: boolean): Generator<FieldError> {
  if (applies && !query.get('fieldManager')) yield required('fieldManager', 'is required for apply patch');
  if (!applies && kind === 'PatchOptions' && query.has('force')) yield forbiddenField('force', 'may not be specified for non-apply patch');
  yield* managerErrors(query.get('fieldManager') ?? '');
  yield* dryRunErrors(query.getAll('dryRun'));
  const validation = query.get('fieldValidation') ?? '';
  if (!validations.includes(validation)) yield notSupported('fieldValidation', validation, validations);
}

/**
 * Returns the options of a write. `kind` names them in errors; `applies` is true for an apply. Throws 422 for invalid
 * ones.
 */
export const parseWriteQuery = (
  naming: Naming,
  query: URLSearchParams,
  kind: 'CreateOptions' | 'UpdateOptions' | 'PatchOptions',
  {applies = false}: {readonly applies?: boolean} = {},
): WriteQuery => {
  if (query.size === 0 && !applies) return defaultWriteQuery;
  const known = accepted[applies ? 'apply' : kind].get(query);
  if (known) return known;
  rejectInvalidOptions(naming, kind, writeErrors(query, kind, applies));
  const options: WriteQuery = {
    dryRun: query.has('dryRun'),
    fieldManager: query.get('fieldManager') ?? '',
    fieldValidation: (query.get('fieldValidation') || 'Warn') as WriteQuery['fieldValidation'],
    force: truthy(query.get('force')),
  };
  accepted[applies ? 'apply' : kind].set(query, options);
  return options;
};

/** The options of valid queries: those of requests that repeat are the same object. */
const accepted = {
  CreateOptions: new WeakMap<URLSearchParams, WriteQuery>(),
  UpdateOptions: new WeakMap<URLSearchParams, WriteQuery>(),
  PatchOptions: new WeakMap<URLSearchParams, WriteQuery>(),
  apply: new WeakMap<URLSearchParams, WriteQuery>(),
};

const defaultWriteQuery: WriteQuery = {dryRun: false, fieldManager: '', fieldValidation: 'Warn', force: false};
