import type {TypeSource} from '#src/cel/check/declarations.js';
import {bool, dyn, int, listOf, mapOf, objectType, string, timestamp, type Type} from '#src/cel/values/types.js';

const prefix = 'kubernetes.';
const named = (name: string): Type => objectType(prefix + name);
const strings = listOf(string);
const groupVersion = {group: string, version: string};

/**
 * The fields of AdmissionRequest and Namespace that expressions can use (API reference). Not all fields are exposed.
 */
const objects: Readonly<Record<string, Readonly<Record<string, Type>>>> = {
  GroupVersionKind: {...groupVersion, kind: string},
  GroupVersionResource: {...groupVersion, resource: string},
  UserInfo: {username: string, uid: string, groups: strings, extra: mapOf(string, strings)},
  AdmissionRequest: {
    kind: named('GroupVersionKind'),
    resource: named('GroupVersionResource'),
    subResource: string,
    requestKind: named('GroupVersionKind'),
    requestResource: named('GroupVersionResource'),
    requestSubResource: string,
    name: string,
    namespace: string,
    operation: string,
    userInfo: named('UserInfo'),
    dryRun: bool,
    options: dyn,
  },
  NamespaceSpec: {finalizers: strings},
  NamespaceCondition: {status: string, type: string, lastTransitionTime: timestamp, message: string, reason: string},
  NamespaceStatus: {conditions: listOf(named('NamespaceCondition')), phase: string},
  NamespaceMetadata: {
    name: string,
    generateName: string,
    namespace: string,
    labels: mapOf(string, string),
    annotations: mapOf(string, string),
    UID: string,
    creationTimestamp: timestamp,
    deletionGracePeriodSeconds: int,
    deletionTimestamp: timestamp,
    generation: int,
    resourceVersion: string,
    finalizers: strings,
  },
  Namespace: {metadata: named('NamespaceMetadata'), spec: named('NamespaceSpec'), status: named('NamespaceStatus')},
};

const fieldsOf = (type: string): Readonly<Record<string, Type>> | undefined => {
  const name = type.startsWith(prefix) ? type.slice(prefix.length) : '';
  return Object.hasOwn(objects, name) ? objects[name] : undefined;
};

/** Resolves the types of requests and namespaces. */
export const admissionTypes: TypeSource = {
  find: name => (fieldsOf(name) ? objectType(name) : undefined),
  field(type, field) {
    const fields = fieldsOf(type);
    return fields && Object.hasOwn(fields, field) ? fields[field] : undefined;
  },
};

export const requestType = named('AdmissionRequest');
export const namespaceType = named('Namespace');
