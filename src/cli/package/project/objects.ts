// The objects of a project: what its kustomization names, in its namespace, in the order in which they are applied.

import {existsSync, readFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {groupOfVersion, isOfKind, kinds, type Kind} from '#src/api/kinds/index.js';
import {naming as namingOf} from '#src/api/naming.js';
import {failureAt, readManifests, type NamedObject} from '#src/plane/manifests/read.js';
import {stagesOf} from '#src/plane/manifests/order.js';
import {parseBody} from '#src/schema/decode/document.js';
import {isPlainObject} from '#src/schema/decode/plain.js';

/** The naming of projects. */
export const naming = namingOf('kubernetes');

/** Whether an object is of a kind, in any version. */
export const isA = (object: NamedObject, kind: Kind): boolean => isOfKind(object, kind, naming);

/** The objects of a project. */
export interface ProjectObjects {
  readonly namespace: string;
  readonly objects: readonly NamedObject[];
}

/**
 * Returns the objects that the kustomization of a project names. Throws an error of one line for what it cannot read.
 */
export const projectObjects = (folder: string, name: string): ProjectObjects => {
  const path = join(folder, 'manifests/kustomization.yaml');
  const {namespace: given, resources} = kustomizationAt(path);
  const documents = readManifests(resources.map(each => join(dirname(path), each)));
  const stages = stagesOf(documents, naming);
  const objects = [...stages.namespaces, ...stages.definitions, ...stages.others].map(({object}) => object);
  const namespace = given ?? objects.find(object => isA(object, kinds.deployments as Kind))?.metadata.namespace ?? name;
  const placed = inNamespace(objects, given === undefined ? {of: '', to: namespace} : {to: given});
  const seen = new Set<string>();
  const twice = placed.find(({apiVersion, kind, metadata}) => {
    const key = [groupOfVersion(apiVersion), kind, metadata.namespace ?? '', metadata.name].join('/');
    return seen.size === seen.add(key).size;
  });
  if (twice)
    throw new Error(`the manifests have ${twice.kind} ${[twice.metadata.namespace, twice.metadata.name].filter(Boolean).join('/')} twice`);
  return {namespace, objects: placed};
};

/** What is read of a kustomization. */
interface Kustomization {
  readonly namespace?: string;
  readonly resources: readonly string[];
}

const understood: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata', 'namespace', 'resources']);

const kustomizationAt = (path: string): Kustomization => {
  if (!existsSync(path)) throw new Error(`${path} is missing: name the folder of a project that plat create operator has made`);
  let value: unknown;
  try {
    ({value} = parseBody(readFileSync(path, 'utf8'), 'yaml'));
  } catch (error) {
    throw failureAt(path, error);
  }
  const fields = isPlainObject(value) ? value : {};
  const other = Object.keys(fields).find(field => !understood.has(field));
  if (other !== undefined) throw new Error(`${path}: plat package does not read ${other}: ${insteadOf(other)}`);
  const {namespace, resources} = fields;
  if (!Array.isArray(resources) || resources.length === 0 || !resources.every(each => typeof each === 'string'))
    throw new Error(`${path}: resources must name the files of the manifests`);
  return {resources: resources as string[], ...(typeof namespace === 'string' && namespace !== '' ? {namespace} : {})};
};

const insteadOf = (field: string): string => (field === 'images' ? 'give --image' : 'write what it does into the manifests');

const clusterScoped: readonly Kind[] = Object.values(kinds as Readonly<Record<string, Kind>>).filter(({namespaced}) => !namespaced);

/** Which objects are put into a namespace: those of another one (empty: of none), or all. */
interface Move {
  readonly of?: string;
  readonly to: string;
}

/**
 * Returns objects in a namespace, as kustomize puts them there: themselves, the service accounts that bindings name,
 * and the Services that webhooks are called by, where these are among the objects.
 */
export const inNamespace = (objects: readonly NamedObject[], {of, to: namespace}: Move): NamedObject[] => {
  const isMoved = ({metadata}: NamedObject): boolean => of === undefined || (metadata.namespace ?? '') === of;
  const namesOf = (kind: Kind) =>
    new Set(objects.filter(object => isA(object, kind) && isMoved(object)).map(({metadata}) => metadata.name));
  const [accounts, services] = [namesOf(kinds.serviceAccounts as Kind), namesOf(kinds.services as Kind)];
  const moved = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(moved);
    if (!isPlainObject(value)) return value;
    const fields = Object.fromEntries(Object.entries(value).map(([field, each]) => [field, moved(each)]));
    const service = fields['service'];
    if (isPlainObject(service) && 'namespace' in service && services.has(String(service['name'])))
      fields['service'] = {...service, namespace};
    return fields;
  };
  return objects.map(object => {
    const {subjects, webhooks, spec} = object as {subjects?: unknown; webhooks?: unknown; spec?: {conversion?: unknown}};
    const metadata = clusterScoped.some(kind => isA(object, kind)) || !isMoved(object) ? object.metadata : {...object.metadata, namespace};
    const isAccount = (subject: unknown): boolean =>
      isPlainObject(subject) && subject['kind'] === 'ServiceAccount' && accounts.has(String(subject['name']));
    return {
      ...object,
      metadata,
      ...(Array.isArray(subjects) ? {subjects: subjects.map((each: object) => (isAccount(each) ? {...each, namespace} : each))} : {}),
      ...(Array.isArray(webhooks) ? {webhooks: moved(webhooks)} : {}),
      ...(spec?.conversion ? {spec: {...spec, conversion: moved(spec.conversion)}} : {}),
    } as NamedObject;
  });
};
