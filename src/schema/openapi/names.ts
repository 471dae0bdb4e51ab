import {compatibleExtensionPrefix, knownApiSuffixes, type GroupToken, type Naming} from '#src/api/naming.js';
import type {SchemaNode, TypeRef} from '#src/schema/node.js';

// Names in OpenAPI documents: of definitions, extensions, tags and operations.

/** A part of a document. */
export type Json = Record<string, unknown>;

/** Types that are formats rather than structs. */
const formatTypes: Readonly<Record<string, string>> = {
  'date-time': 'apimachinery.pkg.apis.meta.v1.Time',
  'date-time-micro': 'apimachinery.pkg.apis.meta.v1.MicroTime',
  quantity: 'apimachinery.pkg.api.resource.Quantity',
  'int-or-string': 'apimachinery.pkg.util.intstr.IntOrString',
  raw: 'apimachinery.pkg.runtime.RawExtension',
  fields: 'apimachinery.pkg.apis.meta.v1.FieldsV1',
};

const folder = (naming: Naming, group: string): string => {
  switch (group) {
    case '':
      return 'api.core';
    case 'meta':
      return 'apimachinery.pkg.apis.meta';
    case 'rbac.authorization':
      return 'api.rbac';
    case 'flowcontrol.apiserver':
      return 'api.flowcontrol';
    case 'internal.apiserver':
      return 'api.apiserverinternal';
    case 'apiextensions':
      return 'apiextensions-apiserver.pkg.apis.apiextensions';
    case 'apiregistration':
      return `${naming.component('aggregator')}.pkg.apis.apiregistration`;
    default:
      return `api.${group}`;
  }
};

/** Reports whether a group is not built in: its resources were defined at runtime. */
const isCustomGroup = (naming: Naming, group: string): boolean =>
  group.includes('.') && naming.groupToken(naming.group(group as GroupToken)) === undefined;

/**
 * Returns the name of a type in OpenAPI documents. Names of custom groups begin with the group's parts in reverse
 * order.
 */
export const definitionName = (naming: Naming, {group, version, name}: TypeRef): string =>
  isCustomGroup(naming, group)
    ? [...group.split('.').toReversed(), version, name].join('.')
    : naming.definition(`${folder(naming, group)}.${version}.${name}`);

/** Returns the definition of a node that has one: a named type, or a format with a type. */
export const definitionOf = (naming: Naming, {ref, format}: SchemaNode): string | undefined => {
  if (ref) return definitionName(naming, ref);
  const type = format === undefined ? undefined : formatTypes[format];
  return type === undefined ? undefined : naming.definition(type);
};

/** Returns a vendor extension under every prefix of the naming. */
export const extension = (naming: Naming, name: string, value: unknown): Record<string, unknown> => ({
  [`${compatibleExtensionPrefix}-${name}`]: value,
  [`${naming.extensionPrefix}-${name}`]: value,
});

const camel = (words: string): string => words.replaceAll(/(?:^|[^A-Za-z0-9]+)(\w)/g, (_, letter: string) => letter.toUpperCase());

/** Returns a group without the built-in suffix, which the name of a custom group may have as well. */
const shortened = (group: string): string => {
  const suffix = knownApiSuffixes.find(known => group.endsWith(`.${known}`));
  return suffix === undefined ? group : group.slice(0, -suffix.length - 1);
};

/** Returns a group and version as in operation ids: `RbacAuthorizationV1`. */
export const camelGroupVersion = (group: GroupToken, version: string): string => `${camelGroup(group)}${camel(version)}`;
export const camelGroup = (group: GroupToken): string => camel(shortened(group) || 'core');

/** Returns the tag of a group version's operations: `rbacAuthorization_v1`. */
export const tagOf = (group: GroupToken, version?: string): string => {
  const words = camelGroup(group);
  const start = `${words.charAt(0).toLowerCase()}${words.slice(1)}`;
  return version === undefined ? start : `${start}_${version}`;
};

export const capitalised = (word: string): string => `${word.charAt(0).toUpperCase()}${word.slice(1)}`;
