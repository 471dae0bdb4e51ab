// This folder repeats how the original's language prints values and types, since clients see it: a few messages show
// values, or a diff of two values, as the original's internal types (every field present, with another name and in
// another order), and errors of decoding name Go types. The rules themselves stand with the kinds; nobody who reads
// them has to look here. It is used when an error is reported, and never for stored objects.

import {jsonText} from '#src/base/json/json.js';
import {sameJson} from '#src/api/equal.js';
import {givenEmpty} from '#src/schema/emptied.js';
import {internalFields} from './internal-fields.js';
import {unifiedDiff} from './unified-diff.js';

type Wire = Readonly<Record<string, unknown>>;

interface Field {
  /** The internal name; undefined for a type whose fields are inlined. */
  readonly name: string | undefined;
  readonly wire: string;
  readonly type: string | undefined;
  readonly zero: unknown;
}

/** Returns the wire name: `httpGet` for `HTTPGet`, that is with its first word in lower case. */
const wireName = (name: string): string => name.replace(/^[A-Z]+(?=[A-Z][a-z]|$)|^[A-Z]+/, capitals => capitals.toLowerCase());

const zeros: Readonly<Record<string, unknown>> = {'*': null, '#': 0, '?': false};

const fieldOf = (word: string): Field => {
  const [, sign = '', name = '', wire, type] = /^([*#?<]?)(\w+)(?:=(\w+))?(?::(\w+))?$/.exec(word)!;
  if (sign === '<') return {name: undefined, wire: '', type: name, zero: undefined};
  const zero = sign ? zeros[sign] : type === 'Quantity' ? '0' : type ? undefined : '';
  return {name, wire: wire ?? wireName(name), type, zero};
};

const known = new Map<string, readonly Field[]>();

const fieldsOf = (type: string): readonly Field[] => {
  let fields = known.get(type);
  if (!fields) known.set(type, (fields = internalFields[type]!.split(' ').map(fieldOf)));
  return fields;
};

/** Reports whether a value is absent; empty lists and maps are. */
const isNone = (value: unknown): boolean => value === undefined || value === null || (Array.isArray(value) && value.length === 0);

const sorted = (map: Wire): Wire | null =>
  Object.keys(map).length === 0
    ? null
    : Object.fromEntries(
        Object.keys(map)
          .sort()
          .map(key => [key, map[key]]),
      );

/** Returns a converter for a type whose internal form is the wire form: its present fields in order. */
const given =
  (fields: string, forms: Readonly<Record<string, (value: object) => unknown>> = {}) =>
  (value: Wire): Wire =>
    Object.fromEntries(
      fields.split(' ').flatMap(field => (isNone(value[field]) ? [] : [[field, forms[field]?.(value[field] as object) ?? value[field]]])),
    );

/** How a list or map that was given empty is converted: to an empty one, or as if it were absent. */
type Empties = 'as given' | 'none';

/** Types with a conversion of their own. */
const written: Readonly<Record<string, (value: Wire, empties: Empties) => Wire | null>> = {
  Map: sorted,
  LabelSelector: ({matchLabels, matchExpressions}) => ({
    ...(matchLabels ? {matchLabels: sorted(matchLabels as Wire)} : {}),
    ...(matchExpressions
      ? {matchExpressions: (matchExpressions as Wire[]).map(({key, operator, values}) => ({key, operator, ...(values ? {values} : {})}))}
      : {}),
  }),
  ObjectMeta: given(
    'name generateName namespace selfLink uid resourceVersion generation creationTimestamp deletionTimestamp deletionGracePeriodSeconds labels annotations ownerReferences finalizers managedFields',
    {
      labels: value => sorted(value as Wire),
      annotations: value => sorted(value as Wire),
      ownerReferences: value => (value as Wire[]).map(given('apiVersion kind name uid controller blockOwnerDeletion')),
      managedFields: value => (value as Wire[]).map(given('manager operation apiVersion time fieldsType fieldsV1 subresource')),
    },
  ),
  TemplateMeta: ({metadata}, empties) => internalForm('ObjectMeta', metadata ?? {}, empties),
  /** Host namespaces are fields of the spec on the wire and of the security context internally. */
  PodSpec(spec, empties) {
    const {hostNetwork, hostPID, hostIPC, shareProcessNamespace, hostUsers, securityContext} = spec;
    const context = {hostNetwork, hostPID, hostIPC, shareProcessNamespace, hostUsers, ...(securityContext as Wire | undefined)};
    return plain('PodSpec', {...spec, securityContext: context}, empties);
  },
};

/** The empty list or map that a field holds, or was given as. */
const emptyIn = (value: Wire, field: string): unknown => (isNone(value[field]) ? (value[field] ?? givenEmpty(value, field)) : undefined);

const plain = (type: string, value: Wire, empties: Empties): Wire => {
  const form: Record<string, unknown> = {};
  for (const field of fieldsOf(type)) {
    if (field.name === undefined) Object.assign(form, internalForm(field.type!, value, empties));
    else form[field.name] = (empties === 'as given' ? emptyIn(value, field.wire) : undefined) ?? formOf(field, value[field.wire], empties);
  }
  return form;
};

const formOf = ({type, zero}: Field, value: unknown, empties: Empties): unknown => {
  if (isNone(value)) return zero === undefined ? internalForm(type!, {}, empties) : zero;
  if (!type || type === 'Quantity') return value;
  return Array.isArray(value)
    ? value.map(item => internalForm(type, (item ?? {}) as Wire, empties))
    : internalForm(type, value as Wire, empties);
};

/** Converts a wire value to its internal form; `type` is its internal type. */
export const internalForm = (type: string, value: object, empties: Empties = 'as given'): Wire | null =>
  (written[type] ?? ((wire: Wire) => plain(type, wire, empties)))(value as Wire, empties);

/** Returns the internal form of a list of an object: null if it was not given, empty if it was given empty. */
export const internalList = <Owner extends object>(owner: Owner | undefined, field: keyof Owner & string, type?: string): unknown => {
  const list = owner?.[field] ?? givenEmpty(owner, field) ?? null;
  return type && Array.isArray(list) ? list.map((item: object) => internalForm(type, item)) : list;
};

/**
 * Reports whether two values of a type have equal internal forms: empty lists are absent, but empty objects are not.
 */
export const sameInternalForm = (type: string, one: object, other: object): boolean =>
  sameJson(internalForm(type, one, 'none'), internalForm(type, other, 'none'));

const escaped = (text: string): string =>
  text.replace(/[<>&\u2028\u2029]/g, letter => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`);
const text = (value: unknown): string => escaped(jsonText(value, 1));

/** Returns the unified diff of two values' internal forms, with three lines of context. */
export const internalDiff = (type: string, before: object, now: object): string =>
  unifiedDiff(text(internalForm(type, before, 'none')), text(internalForm(type, now)));
