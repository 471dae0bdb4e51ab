// The versions in which admission can present the objects of a request: those of the stored kind, of a subresource's
// kind, or of connect options. Conversions happen on use, and results may share parts with the original: they are never
// changed.

import type {Eventually} from '#src/base/eventually.js';
import type {Kind} from '#src/api/kind.js';
import type {KubeObject} from '#src/api/types.js';
import {ownValue} from '#src/base/own.js';
import type {ServedVersion, View} from '#src/resources/definition.js';
import {decodeValue} from '#src/schema/decode/decode.js';
import {copied} from '#src/schema/decode/plain.js';
import type {SchemaNode} from '#src/schema/node.js';
import type {AdmissionAttributes} from '#src/apiserver/admission/admission.js';
import type {Registry} from '#src/apiserver/registry/registry.js';
import type {Resource, ServedResource, Siblings} from '#src/apiserver/registry/resource.js';

/** The names on the wire of a kind in one version, and of its resource. */
export interface KindName {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly kindGroup: string;
  readonly kindVersion: string;
  readonly kind: string;
}

/** The objects of a request in one of the versions in which they are served. */
export interface ObjectVersion extends KindName {
  /** The schema of the version, if known. */
  schema(): SchemaNode | undefined;
  /** Converts an object of admission to this version. The result may share parts with it and must not be changed. */
  of(object: Readonly<KubeObject>): Eventually<KubeObject>;
  /** The labels of an object in this version, which are the same in all versions. */
  labelsOf(object: Readonly<KubeObject>): Readonly<Record<string, string>>;
  /**
   * Converts a changed object back to the version of admission, pruned and defaulted. Throws if it cannot be decoded.
   * `before` is the unchanged object; `numbers` are the literals of numbers by field path, where they differ from the
   * usual form.
   */
  back(changed: KubeObject, before: Readonly<KubeObject>, numbers?: ReadonlyMap<string, string>): Eventually<KubeObject>;
}

const formName = ({settings: {naming}}: Resource, served: Kind, shown: Kind): KindName => ({
  group: naming.group(served.group),
  version: served.version,
  resource: served.plural,
  kindGroup: naming.group(shown.group),
  kindVersion: shown.version,
  kind: shown.kind,
});

const ownLabels = ({metadata}: Readonly<KubeObject>): Readonly<Record<string, string>> => metadata?.labels ?? {};

/** The stored kind in one of its versions. */
const storedVersion = (resource: Resource, kind: Kind, version: ServedVersion<KubeObject> | undefined): ObjectVersion => {
  const {settings, definition} = resource;
  const {naming} = settings;
  const apiVersion = naming.apiVersion(kind.group, kind.version);
  const schema = () => settings.schemas.of(kind.group, kind.version, kind.kind);
  return {
    ...formName(resource, kind, kind),
    schema,
    labelsOf: ownLabels,
    of: object => ({...(version ? version.fromHub(object, naming) : object), apiVersion, kind: kind.kind}),
    back(changed, _, numbers) {
      const node = schema();
      const object = node ? decodeValue<KubeObject>(changed, node, 'Ignore', {numbers}).object : changed;
      version?.default?.(object, resource.hooks({name: '', groups: []}));
      const hub = version ? version.toHub(object, naming) : object;
      definition.default?.(hub, settings);
      return hub;
    },
  };
};

/** The stored kind in a version that is a resource of its own, as those of custom resources are. */
const siblingVersion = (resource: Resource, sibling: ServedResource, {convert}: Siblings): ObjectVersion => {
  const own = storedVersion(sibling.resource, sibling.kind, undefined);
  return {
    ...own,
    of: object => convert(copied(object) as KubeObject, sibling.resource.apiVersion),
    back: async (changed, before, numbers) => convert(await own.back(changed, before, numbers), resource.apiVersion),
  };
};

/** The other kind that a subresource shows. */
const viewVersion = (resource: Resource, kind: Kind, view: View<KubeObject>): ObjectVersion => {
  const {shows} = view;
  const apiVersion = resource.settings.naming.apiVersion(shows.kind.group, shows.kind.version);
  return {
    ...formName(resource, kind, shows.kind),
    schema: () => resource.settings.schemas.of(shows.kind.group, shows.kind.version, shows.kind.kind),
    labelsOf: object => ownLabels(view.of(object)),
    of: object => ({kind: shows.kind.kind, apiVersion, ...view.of(object)}),
    back(changed, before) {
      const object = copied(before) as KubeObject;
      view.put(changed, object);
      return object;
    },
  };
};

/** Options of connect requests, which are never stored and have one version. */
const connectVersion = (resource: Resource, shown: KindName): ObjectVersion => {
  const schema = () => {
    const {naming, schemas} = resource.settings;
    const token = naming.groupToken(shown.kindGroup);
    return token === undefined ? undefined : schemas.of(token, shown.kindVersion, shown.kind);
  };
  return {
    ...shown,
    schema,
    labelsOf: ownLabels,
    of: object => object,
    back(changed, _, numbers) {
      const node = schema();
      return node ? decodeValue<KubeObject>(changed, node, 'Ignore', {numbers}).object : changed;
    },
  };
};

const makeVersion = ({resource, kind, version}: ServedResource, subresource: string): ObjectVersion => {
  const {definition} = resource;
  const endpoint = ownValue(definition.subresources, subresource);
  if (endpoint?.view) return viewVersion(resource, kind, endpoint.view);
  const action = subresource ? ownValue(definition.actions, subresource) : definition.review;
  if (action) return connectVersion(resource, formName(resource, kind, action.kind));
  const connect = ownValue(definition.connectSubresources, subresource);
  if (connect)
    return connectVersion(resource, {...formName(resource, kind, kind), kindGroup: '', kindVersion: 'v1', kind: connect.options.kind});
  return storedVersion(resource, kind, version);
};

/** Cached by resource and subresource. */
const known = new WeakMap<Resource, Map<string, ObjectVersion>>();

const versionOf = (served: ServedResource, subresource: string): ObjectVersion => {
  let versions = known.get(served.resource);
  if (!versions) known.set(served.resource, (versions = new Map()));
  const key = `${served.kind.group}/${served.kind.version}/${subresource}`;
  let version = versions.get(key);
  if (!version) versions.set(key, (version = makeVersion(served, subresource)));
  return version;
};

const siblingVersionOf = (served: ServedResource, other: ServedResource, subresource: string, siblings: Siblings): ObjectVersion => {
  const {kindGroup, kindVersion, kind, ...form} = versionOf(served, subresource);
  const isView = ownValue(served.resource.definition.subresources, subresource)?.view !== undefined;
  const {version} = other.kind;
  return isView ? {...form, version, kindGroup, kindVersion, kind} : siblingVersion(served.resource, other, siblings);
};

/** The versions in which the objects of a request are available. */
export interface ObjectVersions {
  /** The version of the request itself. */
  readonly own: ObjectVersion;
  /** The other versions, and other groups, in which the same objects are served. */
  others(): readonly ObjectVersion[];
}

/** Returns the versions of a request's objects; undefined if its resource is no longer served. */
export const versionsOf = (
  registry: Pick<Registry, 'find' | 'served'>,
  {group, version, resource, subresource}: Pick<AdmissionAttributes, 'group' | 'version' | 'resource' | 'subresource'>,
): ObjectVersions | undefined => {
  const served = registry.find(group, version, resource);
  if (!served) return undefined;
  return {
    own: versionOf(served, subresource),
    others() {
      const {definition, settings} = served.resource;
      const {siblings} = settings;
      // The kind of a view is the same in all versions of the resource.
      if (siblings)
        return siblings
          .served()
          .filter(({kind}) => kind !== served.kind)
          .map(other => siblingVersionOf(served, other, subresource, siblings));
      const {naming} = served.resource.settings;
      const all = [definition.kind, ...(definition.served?.otherVersions ?? []).map(({kind}) => kind)];
      return all
        .filter(kind => kind !== served.kind)
        .flatMap(kind => registry.find(naming.group(kind.group), kind.version, kind.plural) ?? [])
        .filter(other => other.resource === served.resource)
        .map(other => versionOf(other, subresource));
    },
  };
};
