// The content of the file `kubelet_internal_checkpoint`, in the format of the original. Pure.

import {fnv1a} from '#src/base/text/fnv.js';
import {corrupted, fieldsOf, isFields, parsedFields} from '#src/platlet/checkpoint/fields.js';
import {goMap, goNumberMap} from '#src/platlet/checkpoint/go-text.js';
import type {DevicesByNode} from '#src/platlet/pod/devices/devices.js';
import {containerAllocation, type ContainerAllocation} from './messages.js';
import type {AssignedDevices} from '#src/platlet/pod/devices/pod-devices.js';

/** The devices of a resource that a container has, and what it gets with them. */
export interface AllocatedDevices extends AssignedDevices {
  readonly response: ContainerAllocation;
}

export interface DeviceEntry extends AllocatedDevices {
  readonly uid: string;
  readonly container: string;
  readonly resource: string;
}

export interface DeviceCheckpoint {
  readonly entries: readonly DeviceEntry[];
  /** The healthy devices, by resource. */
  readonly registered: ReadonlyMap<string, readonly string[]>;
}

/** An entry as it is in the file. */
interface Entry {
  readonly PodUID: string;
  readonly ContainerName: string;
  readonly ResourceName: string;
  readonly DeviceIDs: Readonly<Record<string, readonly string[]>>;
  /** In base 64. */
  readonly AllocResp: string;
}

interface Data {
  readonly PodDeviceEntries: readonly Entry[] | null;
  readonly RegisteredDevices: Readonly<Record<string, readonly string[]>> | null;
}

const listText = (items: readonly string[]): string => `[${items.join(' ')}]`;

const entryText = ({PodUID, ContainerName, ResourceName, DeviceIDs, AllocResp}: Entry): string => {
  const devices = goNumberMap(
    Object.entries(DeviceIDs).map(([node, ids]) => [Number(node), ids]),
    listText,
  );
  return `{PodUID:(string)${PodUID} ContainerName:(string)${ContainerName} ResourceName:(string)${ResourceName} DeviceIDs:(checkpoint.DevicesPerNUMA)${devices} AllocResp:([]uint8)[${[...Buffer.from(AllocResp, 'base64')].join(' ')}]}`;
};

const checksumOf = ({PodDeviceEntries, RegisteredDevices}: Data): number => {
  const entries = PodDeviceEntries ? `[${PodDeviceEntries.map(entryText).join(' ')}]` : '<nil>';
  const registered = RegisteredDevices ? goMap(Object.entries(RegisteredDevices), listText) : '<nil>';
  return fnv1a(
    `(checkpoint.checkpointData){PodDeviceEntries:([]checkpoint.PodDevicesEntry)${entries} RegisteredDevices:(map[string][]string)${registered}}`,
  );
};

/** Returns the content of the file. */
export const formatDeviceCheckpoint = ({entries, registered}: DeviceCheckpoint): string => {
  const data: Data = {
    PodDeviceEntries:
      entries.length === 0
        ? null
        : entries.map(({uid, container, resource, devices, response}) => ({
            PodUID: uid,
            ContainerName: container,
            ResourceName: resource,
            DeviceIDs: Object.fromEntries(devices),
            AllocResp: containerAllocation.encode(response).toString('base64'),
          })),
    RegisteredDevices: Object.fromEntries(registered),
  };
  return JSON.stringify({Data: data, Checksum: checksumOf(data)});
};

const listsOf = (value: unknown): Readonly<Record<string, readonly string[]>> => {
  const lists = fieldsOf(value);
  for (const list of Object.values(lists)) if (!Array.isArray(list)) throw corrupted();
  return lists as Readonly<Record<string, readonly string[]>>;
};

const entryOf = (value: unknown): Entry => {
  const {PodUID, ContainerName, ResourceName, DeviceIDs, AllocResp} = fieldsOf(value);
  return {
    PodUID: String(PodUID),
    ContainerName: String(ContainerName),
    ResourceName: String(ResourceName),
    DeviceIDs: listsOf(DeviceIDs ?? {}),
    AllocResp: typeof AllocResp === 'string' ? AllocResp : '',
  };
};

/** Parses the content of the file. Throws if it is corrupt. */
export const parseDeviceCheckpoint = (text: string): DeviceCheckpoint => {
  const {Data: fields, Checksum: checksum} = parsedFields(text);
  const {PodDeviceEntries, RegisteredDevices} = fieldsOf(fields);
  const data: Data = {
    PodDeviceEntries: Array.isArray(PodDeviceEntries) ? PodDeviceEntries.map(entryOf) : null,
    RegisteredDevices: isFields(RegisteredDevices) ? listsOf(RegisteredDevices) : null,
  };
  if (checksum !== checksumOf(data)) throw corrupted();
  return {
    entries: (data.PodDeviceEntries ?? []).map(({PodUID, ContainerName, ResourceName, DeviceIDs, AllocResp}) => ({
      uid: PodUID,
      container: ContainerName,
      resource: ResourceName,
      devices: byNumber(DeviceIDs),
      response: containerAllocation.decode(Buffer.from(AllocResp, 'base64')),
    })),
    registered: new Map(Object.entries(data.RegisteredDevices ?? {})),
  };
};

const byNumber = (lists: Readonly<Record<string, readonly string[]>>): DevicesByNode =>
  new Map(Object.entries(lists).map(([node, ids]) => [Number(node), ids]));
