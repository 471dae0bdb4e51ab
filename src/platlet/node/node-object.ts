// The Node object that an agent registers, and the reconciliation of an existing one.

import type {Frozen} from '#src/api/key.js';
import {compareQuantities, parseQuantity} from '#src/api/quantity.js';
import type {Naming} from '#src/api/naming.js';
import type {Node} from '#src/api/types.js';
import {isExtendedResource, isHugePages} from '#src/model/resource-names.js';
import type {NodeStatus} from './conditions.js';

/** The annotation that tells the attach/detach controller to manage the node's volumes. */
export const attachAnnotation = (naming: Naming): string => naming.subKey('volumes', 'controller-managed-attach-detach');

/** The annotation with the addresses of `--node-ip`, for an external cloud provider. */
const providedAddresses = (naming: Naming): string => naming.subKey('alpha', 'provided-node-ip');

/** The taint of a node that an external cloud provider has to initialize. */
export const uninitializedTaint = (naming: Naming): Taints[number] => ({
  key: naming.subKey('node.cloudprovider', 'uninitialized'),
  value: 'true',
  effect: 'NoSchedule',
});

type Taints = readonly {readonly key: string; readonly value?: string; readonly effect: string}[];

export interface NodeIdentity {
  readonly name: string;
  /** The value of the hostname label. */
  readonly hostname: string;
  readonly architecture: string;
  readonly operatingSystem: string;
  /** Labels besides the default ones. */
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: Taints;
  /** Whether the attach/detach controller attaches its volumes. */
  readonly controllerAttaches: boolean;
  readonly providerId: string;
  /** The addresses of `--node-ip` with an external cloud provider, comma separated. */
  readonly providedAddresses?: string | undefined;
}

/** Returns the Node that an agent registers, without a status. */
export const newNode = (naming: Naming, identity: NodeIdentity): Node => {
  const {
    name,
    hostname,
    architecture,
    operatingSystem,
    labels,
    taints,
    controllerAttaches,
    providerId,
    providedAddresses: provided,
  } = identity;
  return {
    metadata: {
      name,
      labels: {
        [naming.subKey('beta', 'arch')]: architecture,
        [naming.subKey('beta', 'os')]: operatingSystem,
        [naming.labels.arch]: architecture,
        [naming.labels.hostname]: hostname,
        [naming.labels.os]: operatingSystem,
        ...labels,
      },
      annotations: {
        ...(controllerAttaches ? {[attachAnnotation(naming)]: 'true'} : {}),
        ...(provided ? {[providedAddresses(naming)]: provided} : {}),
      },
    },
    spec: {
      ...(providerId ? {providerID: providerId} : {}),
      ...(taints.length > 0 ? {taints: taints.map(taint => ({...taint}))} : {}),
    },
  };
};

/** The labels that the agent reconciles. */
const ownLabels = (naming: Naming): readonly string[] => [
  naming.labels.hostname,
  ...['region', 'zone'].flatMap(name => [naming.subKey('topology', name), naming.subKey('failure-domain.beta', name)]),
  naming.subKey('node', 'instance-type'),
  ...['instance-type', 'os', 'arch'].map(name => naming.subKey('beta', name)),
  naming.labels.os,
  naming.labels.arch,
];

/**
 * Returns the merge patch that reconciles the agent's labels and annotations of a Node; undefined if they are up to
 * date. Taints and other labels are not touched.
 */
export const ownMetadataPatch = (
  naming: Naming,
  {metadata: found = {}}: Frozen<Node>,
  {metadata: wanted = {}}: Frozen<Node>,
): {readonly labels: Record<string, string>; readonly annotations: Record<string, string | null>} | undefined => {
  const stale = ownLabels(naming).filter(key => wanted.labels?.[key] !== undefined && found.labels?.[key] !== wanted.labels[key]);
  const annotations = [attachAnnotation(naming), providedAddresses(naming)].filter(
    key => found.annotations?.[key] !== wanted.annotations?.[key],
  );
  if (stale.length === 0 && annotations.length === 0) return undefined;
  return {
    labels: Object.fromEntries(stale.map(key => [key, wanted.labels?.[key] ?? ''])),
    annotations: Object.fromEntries(annotations.map(key => [key, wanted.annotations?.[key] ?? null])),
  };
};

type Amounts = Readonly<Record<string, string>>;
type Resources = {readonly [field in 'capacity' | 'allocatable']: Amounts};
type ResourcesPatch = {readonly [field in 'capacity' | 'allocatable']?: Readonly<Record<string, string | null>>};

const isSame = (a: string | undefined, b: string): boolean =>
  a !== undefined && compareQuantities(parseQuantity(a), parseQuantity(b)) === 0;

/** Returns the patch between two maps of quantities; undefined if they are equal. */
const amountsPatch = (found: Amounts, wanted: Amounts): Record<string, string | null> | undefined => {
  const gone = Object.keys(found).filter(name => wanted[name] === undefined);
  const changed = Object.entries(wanted).filter(([name, amount]) => !isSame(found[name], amount));
  if (gone.length + changed.length === 0) return undefined;
  return Object.fromEntries([...gone.map(name => [name, null] as const), ...changed]);
};

const withoutHugePages = (amounts: Amounts): Amounts => Object.fromEntries(Object.entries(amounts).filter(([name]) => !isHugePages(name)));
const hugePagesOf = (amounts: Amounts): Amounts => Object.fromEntries(Object.entries(amounts).filter(([name]) => isHugePages(name)));

/**
 * Returns the merge patch that reconciles the resources of a Node that was registered before with those of the machine;
 * undefined if they are up to date. Huge pages are those that the machine has. `resetsExtended`: extended resources are
 * 0 until plugins report them.
 */
export const ownResourcesPatch = (
  naming: Naming,
  found: Frozen<NodeStatus> | undefined,
  initial: Resources,
  resetsExtended: boolean,
): ResourcesPatch | undefined => {
  const reset = Object.keys(resetsExtended ? (found?.capacity ?? {}) : {}).filter(name => isExtendedResource(name, naming));
  const none = Object.fromEntries(reset.map(name => [name, '0']));
  const patches = (['capacity', 'allocatable'] as const).flatMap(field => {
    const before = found?.[field] ?? {};
    const kept = found?.[field] ?? initial[field];
    const patch = amountsPatch(before, {...withoutHugePages(kept), ...hugePagesOf(initial[field]), ...none});
    return patch ? [[field, patch] as const] : [];
  });
  return patches.length > 0 ? Object.fromEntries(patches) : undefined;
};
