// A volume of a CSI driver, as a pod uses it, and what the driver is told of it. Pure functions.

import {createHash} from 'node:crypto';
import type {Frozen} from '#src/api/key.js';
import type {ObjectOf, kinds} from '#src/api/kinds/index.js';
import {csiContextPrefix} from '#src/api/naming.js';
import type {Pod} from '#src/api/pod.js';
import type {VolumeRequest} from '#src/platlet/volumes/plugin.js';
import type {AccessMode, Capability, VolumeCapability} from './procedures.js';

export type CsiDriver = ObjectOf<typeof kinds.csiDrivers> & {readonly spec: {readonly serviceAccountTokenInSecrets?: boolean}};

export interface SecretReference {
  readonly namespace: string;
  readonly name: string;
}

/** A volume of a driver. */
export interface CsiVolume {
  readonly driver: string;
  readonly handle: string;
  /** The name of the persistent volume, or of the volume in the pod. */
  readonly specName: string;
  /** An ephemeral volume is created for the pod when it is published. */
  readonly lifecycle: 'Persistent' | 'Ephemeral';
  readonly isBlock: boolean;
  readonly isReadonly: boolean;
  readonly fsType: string;
  /** The access mode that the driver is told, and all that the volume has. */
  readonly accessMode: string;
  readonly accessModes: readonly string[] | undefined;
  readonly mountOptions: readonly string[];
  readonly attributes: Readonly<Record<string, string>>;
  readonly secrets: {readonly stage?: SecretReference; readonly publish?: SecretReference; readonly expand?: SecretReference};
}

const sha = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Returns the name of the object that attaches a volume to a node. */
export const attachmentName = ({driver, handle}: Pick<CsiVolume, 'driver' | 'handle'>, node: string): string =>
  `csi-${sha(`${handle}${driver}${node}`)}`;

/** Returns the handle of an ephemeral volume. */
const inlineHandle = (uid: string, volume: string): string => `csi-${sha(`${uid}${volume}`)}`;

/** Returns the name of the folder of a staged volume. */
export const stagingFolder = (handle: string): string => sha(handle);

const secretOf = (reference: {readonly name?: string; readonly namespace?: string} | undefined): SecretReference | undefined =>
  reference && {namespace: reference.namespace ?? '', name: reference.name ?? ''};

type Secrets = CsiVolume['secrets'];

const secretsOf = (stage?: SecretReference, publish?: SecretReference, expand?: SecretReference): Secrets => ({
  ...(stage ? {stage} : {}),
  ...(publish ? {publish} : {}),
  ...(expand ? {expand} : {}),
});

/** Returns the CSI volume that is requested. Throws if it is of another type. */
export const csiVolumeOf = ({pod, volume, persistent, isReadonly}: Omit<VolumeRequest, 'giveToGroup' | 'name'>): CsiVolume => {
  const {spec} = persistent ?? {};
  if (spec?.csi) {
    const {driver, volumeHandle, fsType = '', volumeAttributes = {}} = spec.csi;
    const {nodeStageSecretRef, nodePublishSecretRef, nodeExpandSecretRef} = spec.csi;
    return {
      driver,
      handle: volumeHandle,
      specName: persistent?.metadata?.name ?? '',
      lifecycle: 'Persistent',
      isBlock: spec.volumeMode === 'Block',
      isReadonly,
      fsType,
      accessMode: spec.accessModes?.[0] ?? 'ReadWriteOnce',
      accessModes: spec.accessModes,
      mountOptions: spec.mountOptions ?? [],
      attributes: volumeAttributes,
      secrets: secretsOf(secretOf(nodeStageSecretRef), secretOf(nodePublishSecretRef), secretOf(nodeExpandSecretRef)),
    };
  }
  const source = volume.csi;
  if (!source || persistent) throw new Error('volume source not found in volume.Spec');
  const {name, nodePublishSecretRef} = {name: volume.name, nodePublishSecretRef: source.nodePublishSecretRef};
  const {uid = '', namespace = ''} = pod.metadata ?? {};
  return {
    driver: source.driver,
    handle: inlineHandle(uid, name),
    specName: name,
    lifecycle: 'Ephemeral',
    isBlock: false,
    isReadonly: source.readOnly ?? false,
    fsType: source.fsType ?? '',
    accessMode: 'ReadWriteOnce',
    accessModes: undefined,
    mountOptions: [],
    attributes: source.volumeAttributes ?? {},
    secrets: secretsOf(undefined, nodePublishSecretRef && {namespace, name: nodePublishSecretRef.name ?? ''}),
  };
};

/** Access modes as drivers without and with the capability for several writers on one node know them. */
const accessModes: Readonly<Record<string, readonly [plain: AccessMode, capable: AccessMode]>> = {
  ReadWriteOnce: ['SINGLE_NODE_WRITER', 'SINGLE_NODE_MULTI_WRITER'],
  ReadOnlyMany: ['MULTI_NODE_READER_ONLY', 'MULTI_NODE_READER_ONLY'],
  ReadWriteMany: ['MULTI_NODE_MULTI_WRITER', 'MULTI_NODE_MULTI_WRITER'],
  ReadWriteOncePod: ['SINGLE_NODE_WRITER', 'SINGLE_NODE_SINGLE_WRITER'],
};

/** How a pod wants the files of a volume. */
export interface MountWishes {
  readonly options: readonly string[];
  /** The group that the driver gives files to; undefined if it does not. */
  readonly group?: number | undefined;
}

/** Returns how a driver is to provide a volume. */
export const capabilityOf = (
  {accessMode, isBlock, fsType}: Pick<CsiVolume, 'accessMode' | 'isBlock' | 'fsType'>,
  can: ReadonlySet<Capability>,
  {options, group}: MountWishes,
): VolumeCapability => {
  const [plain, capable] = accessModes[accessMode] ?? ['UNKNOWN', 'UNKNOWN'];
  const mount = {fsType, mountFlags: [...options], volumeMountGroup: group === undefined ? '' : String(group)};
  return {
    block: isBlock ? {} : undefined,
    mount: isBlock ? undefined : mount,
    accessMode: {mode: can.has('SINGLE_NODE_MULTI_WRITER') ? capable : plain},
  };
};

/** The key of the tokens that a driver asks for. */
export const tokensKey = `${csiContextPrefix}serviceAccount.tokens`;

/** Returns what a driver is told of a pod. */
export const podContext = ({metadata, spec}: Frozen<Pod>, lifecycle: CsiVolume['lifecycle']): Record<string, string> =>
  Object.fromEntries(
    Object.entries({
      'pod.name': metadata?.name ?? '',
      'pod.namespace': metadata?.namespace ?? '',
      'pod.uid': metadata?.uid ?? '',
      'serviceAccount.name': spec?.serviceAccountName ?? '',
      ephemeral: String(lifecycle === 'Ephemeral'),
    }).map(([key, value]) => [`${csiContextPrefix}${key}`, value]),
  );

/** Whether a driver may be used for volumes of a lifecycle. Throws if not. */
export const checkLifecycle = (driver: string, found: Frozen<CsiDriver> | undefined, lifecycle: CsiVolume['lifecycle']): void => {
  if (!found && lifecycle === 'Persistent') return;
  const text = `volume mode ${JSON.stringify(lifecycle)} not supported by driver ${driver}`;
  if (!found) throw new Error(`${text} (no CSIDriver object)`);
  const modes = found.spec.volumeLifecycleModes ?? [];
  if (!modes.includes(lifecycle)) throw new Error(`${text} (only supports [${modes.map(mode => JSON.stringify(mode)).join(' ')}])`);
};

/** Whether the agent gives the files of a volume to the group of the pod. */
export const isGivenToGroup = (
  {isReadonly, fsType, lifecycle, accessModes: modes}: Pick<CsiVolume, 'isReadonly' | 'fsType' | 'lifecycle' | 'accessModes'>,
  policy: string,
): boolean => {
  if (isReadonly || policy === 'None') return false;
  if (policy === 'File') return true;
  if (fsType === '') return false;
  return lifecycle === 'Ephemeral' || (modes?.includes('ReadWriteOnce') ?? false);
};

/** Returns the fsGroup policy of a driver; that of one without an object is the default. */
export const groupPolicyOf = (found: Frozen<CsiDriver> | undefined): string => {
  if (!found) return 'ReadWriteOnceWithFSType';
  if (!found.spec.fsGroupPolicy) throw new Error('expected valid fsGroupPolicy, received nil value or empty string');
  return found.spec.fsGroupPolicy;
};
