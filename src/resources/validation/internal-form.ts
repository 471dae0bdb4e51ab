import {jsonText} from '#src/base/json.js';
import {sameJson} from '#src/api/equal.js';
import {internalFields} from './internal-fields.js';
import {unifiedDiff} from './unified-diff.js';

// A few messages show values, or how two of them differ, as the original holds them within: every field is there, by another name and in another order.

type Wire = Readonly<Record<string, unknown>>;

interface Field {
  /** Its name within; none for a type whose fields stand beside the others. */
  readonly name: string | undefined;
  readonly wire: string;
  readonly type: string | undefined;
  readonly zero: unknown;
}

/** `HTTPGet` is `httpGet` on the wire: the capitals it begins with, but for the one a word begins with. */
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

/** An empty list or map is none. */
const isNone = (value: unknown): boolean => value === undefined || value === null || (Array.isArray(value) && value.length === 0);

const sorted = (map: Wire): Wire | null => (Object.keys(map).length === 0 ? null : Object.fromEntries(Object.keys(map).sort().map(key => [key, map[key]])));

/** A type that is held within as on the wire: the fields there are, in its order. */
const given = (fields: string, forms: Readonly<Record<string, (value: object) => unknown>> = {}) => (value: Wire): Wire =>
  Object.fromEntries(fields.split(' ').flatMap(field => (isNone(value[field]) ? [] : [[field, forms[field]?.(value[field] as object) ?? value[field]]])));

/** Types that say on their own how they are written. */
const written: Readonly<Record<string, (value: Wire) => Wire | null>> = {
  Map: sorted,
  LabelSelector: ({matchLabels, matchExpressions}) => ({
    ...(matchLabels ? {matchLabels: sorted(matchLabels as Wire)} : {}),
    ...(matchExpressions ? {matchExpressions: (matchExpressions as Wire[]).map(({key, operator, values}) => ({key, operator, ...(values ? {values} : {})}))} : {}),
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
  TemplateMeta: ({metadata}) => internalForm('ObjectMeta', metadata ?? {}),
  /** What concerns the node's namespaces stands beside the security context on the wire, and in it within. */
  PodSpec(spec) {
    const {hostNetwork, hostPID, hostIPC, shareProcessNamespace, hostUsers, securityContext} = spec;
    const context = {hostNetwork, hostPID, hostIPC, shareProcessNamespace, hostUsers, ...(securityContext as Wire | undefined)};
    return plain('PodSpec', {...spec, securityContext: context});
  },
};

const plain = (type: string, value: Wire): Wire => {
  const form: Record<string, unknown> = {};
  for (const field of fieldsOf(type)) {
    if (field.name === undefined) Object.assign(form, internalForm(field.type!, value));
    else form[field.name] = formOf(field, value[field.wire]);
  }
  return form;
};

const formOf = ({type, zero}: Field, value: unknown): unknown => {
  if (isNone(value)) return zero === undefined ? internalForm(type!, {}) : zero;
  if (!type || type === 'Quantity') return value;
  return Array.isArray(value) ? value.map(item => internalForm(type, (item ?? {}) as Wire)) : internalForm(type, value as Wire);
};

/** A value of the wire as the original holds it within; `type` is one of its names there. */
export const internalForm = (type: string, value: object): Wire | null => (written[type] ?? ((wire: Wire) => plain(type, wire)))(value as Wire);

/** Whether two values of a type say the same: an empty list is none, but an empty object is something. */
export const sameInternalForm = (type: string, one: object, other: object): boolean => sameJson(internalForm(type, one), internalForm(type, other));

const escaped = (text: string): string => text.replace(/[<>&\u2028\u2029]/g, letter => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`);
const text = (value: unknown): string => escaped(jsonText(value, 1));

/** How two values of a type differ, as the original tells it: the lines of one and the other that are not the same, with three around them. */
export const internalDiff = (type: string, before: object, now: object): string => unifiedDiff(text(internalForm(type, before)), text(internalForm(type, now)));
