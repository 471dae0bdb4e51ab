// Converts manifests of files and URLs to static pods of the node.

import {createHash} from 'node:crypto';
import type {Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {Pod} from '#src/api/pod.js';
import {configMapNamesOf} from '#src/model/pod/config-map-names.js';
import {containersOf} from '#src/model/pod/containers.js';
import {defaultPodSpec, requestLimits} from '#src/model/pod/defaults.js';
import {secretNamesOf} from '#src/model/pod/secret-names.js';

/** The source of a static pod. */
export type Origin = {readonly is: 'file' | 'url'; readonly place: string};

export interface StaticPodSettings {
  readonly naming: Naming;
  readonly node: string;
  /** The gate PreventStaticPodAPIReferences. */
  readonly refusesReferences: boolean;
  /** Returns the validation errors of a defaulted pod; empty if it is valid. */
  validate?(pod: Frozen<Pod>): readonly string[];
}

/** Thrown for an invalid manifest. */
export class ManifestError extends Error {
  override readonly name = 'ManifestError';
}

const sorted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, item]) => [key, sorted(item)]),
  );
};

/**
 * Returns the uid of a static pod: a hash of its content, node and source, which is stable across restarts and changes
 * with the manifest.
 */
const uidOf = (pod: Pod, node: string, {is, place}: Origin): string =>
  createHash('sha256')
    .update(JSON.stringify(sorted(pod)))
    .update(`host:${node}`)
    .update(`${is}:${place}`)
    .digest('hex')
    .slice(0, 32);

/** Returns the kinds of API objects that a static pod refers to; undefined if there are none. */
const referenceOf = ({spec}: Pod): string | undefined => {
  const {serviceAccountName, serviceAccount, volumes = [], resourceClaims = []} = spec!;
  if (serviceAccountName || serviceAccount) return 'service accounts';
  if (secretNamesOf(spec!).length > 0) return 'secrets';
  if (configMapNamesOf(spec!).length > 0) return 'configmaps';
  if (volumes.some(({persistentVolumeClaim, ephemeral}) => persistentVolumeClaim ?? ephemeral)) return 'persistentvolumeclaims';
  if (
    volumes.some(({projected}) =>
      projected?.sources?.some(({serviceAccountToken, clusterTrustBundle}) => serviceAccountToken ?? clusterTrustBundle),
    )
  )
    return 'service account tokens or cluster trust bundles';
  return resourceClaims.length > 0 ? 'resourceclaims' : undefined;
};

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Throws for a value that is not a pod. */
const asPod = (value: unknown): Pod => {
  if (!isObject(value)) throw new ManifestError('invalid pod: the manifest is no object');
  const {apiVersion, kind, metadata, spec} = value;
  if (kind !== kinds.pods.kind || apiVersion !== 'v1') throw new ManifestError(`invalid pod: ${JSON.stringify({apiVersion, kind})}`);
  if (!isObject(metadata) || typeof metadata['name'] !== 'string' || metadata['name'] === '')
    throw new ManifestError('invalid pod: metadata.name: Required value: name or generateName is required');
  if (!isObject(spec) || !Array.isArray(spec['containers']) || spec['containers'].length === 0)
    throw new ManifestError('invalid pod: spec.containers: Required value');
  return structuredClone(value) as unknown as Pod;
};

/** Converts a manifest to a pod of this node. Throws `ManifestError`. */
export const staticPod = (value: unknown, origin: Origin, {naming, node, refusesReferences, validate}: StaticPodSettings): Pod => {
  const pod = asPod(value);
  const {metadata = {}, spec} = pod;
  const uid = metadata.uid || uidOf(pod, node, origin);
  pod.metadata = {
    ...metadata,
    uid,
    name: `${metadata.name}-${node.toLowerCase()}`,
    namespace: metadata.namespace || 'default',
    annotations: {
      ...metadata.annotations,
      [naming.key('config.hash')]: uid,
      [naming.key('config.source')]: origin.is === 'url' ? 'http' : origin.is,
    },
  };
  pod.spec = {...spec!, nodeName: node, tolerations: [...(spec!.tolerations ?? []), {operator: 'Exists', effect: 'NoExecute'}]};
  pod.status = {phase: 'Pending'};
  defaultPodSpec(pod.spec);
  for (const {resources} of containersOf(pod.spec)) requestLimits(resources);
  const reference = refusesReferences ? referenceOf(pod) : undefined;
  if (reference !== undefined) throw new ManifestError(`static pods may not reference ${reference}`);
  const names = containersOf(pod.spec).map(({name}) => name);
  if (new Set(names).size < names.length) throw new ManifestError('invalid pod: spec.containers: Duplicate value');
  const problems = validate?.(pod) ?? [];
  if (problems.length > 0) throw new ManifestError(`invalid pod: ${problems.join(', ')}`);
  return pod;
};
