import {forbiddenField, invalid, invalidObject, notSupported, type FieldError} from '#src/api/field-error.js';
import type {Naming} from '#src/api/naming.js';
import {parseFieldSelector, type FieldSelector} from '#src/api/selectors/field-selector.js';
import {parseLabelSelector, type LabelSelector} from '#src/api/selectors/label-selector.js';
import {badRequest} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import {truthy} from '#src/apiserver/request/request-info.js';
import type {ServedResource} from './registry.js';

/** What a list, watch or collection delete asks for. */
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

const whole = (query: URLSearchParams, name: string): number | undefined => {
  const text = query.get(name);
  if (text === null || text === '') return undefined;
  if (!/^[+-]?\d+$/.test(text)) throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`);
  return Number(text);
};

/** A resourceVersion of the query. Throws 400 for what is none. */
export const parseResourceVersion = (text: string | null): number | undefined => {
  if (text === null || text === '') return undefined;
  if (!/^\d{1,19}$/.test(text)) throw badRequest(`Invalid value: ${JSON.stringify(text)}: strconv.ParseUint: parsing ${JSON.stringify(text)}: invalid syntax`);
  return Number(text);
};

/** The 422 for options that do not go together. */
const optionErrors = (naming: Naming, kind: string, found: Iterable<FieldError>): void => {
  const errors = [...found];
  if (errors.length > 0) throw invalidObject({group: naming.group('meta'), kind}, '', errors);
};

/** Reads and judges the options of a list or watch (the API reference, resource versions). */
export const listOptions = (naming: Naming, query: URLSearchParams, watch: boolean): ListOptions => {
  const match = query.get('resourceVersionMatch') ?? '';
  const version = query.get('resourceVersion') ?? '';
  const token = query.get('continue') ?? '';
  const initial = query.has('sendInitialEvents') ? truthy(query.get('sendInitialEvents')) : undefined;
  optionErrors(naming, 'ListOptions', watch ? watchErrors(match, token, initial) : listErrors(match, version, token, initial));
  const limit = whole(query, 'limit') ?? 0;
  return {
    labels: parseLabelSelector(query.get('labelSelector') ?? ''),
    fields: parseFieldSelector(query.get('fieldSelector') ?? ''),
    limit: Math.max(0, limit),
    continue: token,
    resourceVersion: parseResourceVersion(version),
    match: match as ListOptions['match'],
    timeoutSeconds: whole(query, 'timeoutSeconds'),
    bookmarks: truthy(query.get('allowWatchBookmarks')),
    sendInitialEvents: initial,
  };
};

function* listErrors(match: string, version: string, token: string, initial: boolean | undefined): Generator<FieldError> {
  if (initial !== undefined) yield forbiddenField('sendInitialEvents', 'sendInitialEvents is forbidden for list');
  if (match === '') return;
  if (version === '') yield forbiddenField('resourceVersionMatch', 'resourceVersionMatch is forbidden unless resourceVersion is provided');
  if (token !== '') yield forbiddenField('resourceVersionMatch', 'resourceVersionMatch is forbidden when continue is provided');
  if (match !== 'Exact' && match !== 'NotOlderThan') yield notSupported('resourceVersionMatch', match, ['Exact', 'NotOlderThan', '']);
  if (match === 'Exact' && version === '0') yield forbiddenField('resourceVersionMatch', 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"');
}

function* watchErrors(match: string, token: string, initial: boolean | undefined): Generator<FieldError> {
  if (initial !== undefined) {
    if (match !== 'NotOlderThan') yield forbiddenField('resourceVersionMatch', 'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan');
    if (token !== '') yield forbiddenField('resourceVersionMatch', 'resourceVersionMatch is forbidden when continue is provided');
    return;
  }
  if (match === '') return;
  if (match !== 'NotOlderThan' && match !== 'Exact') yield notSupported('resourceVersionMatch', match, ['NotOlderThan']);
  yield forbiddenField('resourceVersionMatch', 'resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided');
}

/** The options of a write that come by the query. */
export interface WriteQuery {
  readonly dryRun: boolean;
  readonly fieldManager: string;
  readonly fieldValidation: 'Ignore' | 'Warn' | 'Strict';
}

/** Reads and judges dryRun, fieldManager and fieldValidation. `kind` names the options in the error. */
export const writeQuery = (naming: Naming, query: URLSearchParams, kind: 'CreateOptions' | 'UpdateOptions' | 'PatchOptions'): WriteQuery => {
  const errors: FieldError[] = [];
  const dryRun = query.getAll('dryRun');
  if (dryRun.some(value => value !== 'All')) errors.push(notSupported('dryRun', dryRun, ['All']));
  const manager = query.get('fieldManager') ?? '';
  if (Buffer.byteLength(manager) > 128) errors.push({...invalid('fieldManager', manager, ''), reason: 'FieldValueTooLong', detail: 'Too long: may not be more than 128 bytes'});
  if (/\p{C}/u.test(manager)) errors.push(invalid('fieldManager', manager, 'should only contain printable characters'));
  const validation = query.get('fieldValidation') ?? '';
  if (!['', 'Ignore', 'Warn', 'Strict'].includes(validation)) errors.push(notSupported('fieldValidation', validation, ['', 'Ignore', 'Warn', 'Strict']));
  if (kind !== 'PatchOptions' || !query.has('force')) optionErrors(naming, kind, errors);
  else optionErrors(naming, kind, [...errors, forbiddenField('force', 'may not be specified for non-apply patch')]);
  return {dryRun: dryRun.length > 0, fieldManager: manager, fieldValidation: (validation || 'Warn') as WriteQuery['fieldValidation']};
};

type Getter = (object: Readonly<KubeObject>) => string;

const metadataFields: Readonly<Record<string, Getter>> = {
  'metadata.name': object => object.metadata?.name ?? '',
  'metadata.namespace': object => object.metadata?.namespace ?? '',
};

/** Judges objects by a request's selectors, on the hub. `all` when everything passes. */
export interface Filter {
  readonly all: boolean;
  /** The one name, or the one namespace, the selection is narrowed to. */
  readonly name: string | undefined;
  readonly namespace: string | undefined;
  matches(object: Readonly<KubeObject>): boolean;
}

/** The filter of a request. Throws 400 for fields the kind cannot be selected by. */
export const filterOf = ({resource, kind, version}: ServedResource, {labels, fields}: Pick<ListOptions, 'labels' | 'fields'>): Filter => {
  const own: Readonly<Record<string, Getter>> = version?.selectableFields ?? resource.definition.selectableFields ?? {};
  const terms = fields.requirements.map(({field, operator, value}) => {
    const getter = (field === 'metadata.namespace' && !kind.namespaced ? undefined : metadataFields[field]) ?? (Object.hasOwn(own, field) ? own[field] : undefined);
    if (!getter) {
      throw badRequest(
        Object.keys(own).length > 0
          ? `field label not supported: ${field}`
          : `${JSON.stringify(field)} is not a known field selector: only "metadata.name", "metadata.namespace"`,
      );
    }
    return {field, equal: operator === '=', value, getter};
  });
  const pinned = (field: string) => terms.find(term => term.field === field && term.equal)?.value;
  return {
    all: labels.empty && terms.length === 0,
    name: pinned('metadata.name'),
    namespace: pinned('metadata.namespace'),
    matches: object => (labels.empty || labels.matches(object.metadata?.labels)) && terms.every(({equal, value, getter}) => (getter(object) === value) === equal),
  };
};
