// The content of the file `dra_manager_state`, in the format of the original. Pure.

import {crc32} from 'node:zlib';
import {claimDriverNames} from '#src/api/naming.js';
import {corrupted, fieldsOf, parsedFields, type Fields} from '#src/platlet/checkpoint/fields.js';
import type {ClaimState, PreparedDevice} from './claim-infos.js';

const ordered = <T>(entries: Iterable<readonly [string, T]>): Record<string, T> =>
  Object.fromEntries([...entries].sort(([a], [b]) => (a < b ? -1 : 1)));
const orNull = <T>(list: readonly T[]): readonly T[] | null => (list.length > 0 ? list : null);

const deviceFields = ({pool, device, share, requests, cdiIds}: PreparedDevice) => ({
  PoolName: pool,
  DeviceName: device,
  ShareID: share ?? null,
  RequestNames: orNull(requests),
  CDIDeviceIDs: orNull(cdiIds),
});

const claimFields = ({uid, name, namespace, pods, drivers}: ClaimState) => ({
  ClaimUID: uid,
  ClaimName: name,
  Namespace: namespace,
  PodUIDs: ordered([...pods].map(pod => [pod, {}])),
  DriverState: ordered([...drivers].map(([driver, devices]) => [driver, {Devices: orNull(devices.map(deviceFields))}])),
});

/** Returns the content of the file. */
export const formatClaimCheckpoint = (claims: Iterable<ClaimState>): string => {
  const data = JSON.stringify({
    kind: 'DRACheckpoint',
    apiVersion: `${claimDriverNames.checkpoint}/v1`,
    ClaimInfoStateList: [...claims].map(claimFields),
  });
  return JSON.stringify({Data: data, Checksum: crc32(data)});
};

const textsOf = (value: unknown): readonly string[] => (Array.isArray(value) ? value.map(String) : []);
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
const fieldsOrNone = (value: unknown): Fields => fieldsOf(value ?? {});
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

const deviceOf = (value: unknown): PreparedDevice => {
  const {PoolName, DeviceName, ShareID, RequestNames, CDIDeviceIDs} = fieldsOrNone(value);
  return {
    pool: textOf(PoolName),
    device: textOf(DeviceName),
    ...(typeof ShareID === 'string' ? {share: ShareID} : {}),
    requests: textsOf(RequestNames),
    cdiIds: textsOf(CDIDeviceIDs),
  };
};

const claimOf = (value: unknown): ClaimState => {
  const {ClaimUID, ClaimName, Namespace, PodUIDs, DriverState} = fieldsOrNone(value);
  return {
    uid: textOf(ClaimUID),
    name: textOf(ClaimName),
    namespace: textOf(Namespace),
    pods: new Set(Object.keys(fieldsOrNone(PodUIDs))),
    drivers: new Map(
      Object.entries(fieldsOrNone(DriverState)).map(([driver, state]) => [driver, listOf(fieldsOrNone(state).Devices).map(deviceOf)]),
    ),
  };
};

/** Parses the content of the file. Throws if it is corrupt. */
export const parseClaimCheckpoint = (text: string): readonly ClaimState[] => {
  const {Data: data, Checksum: checksum} = parsedFields(text);
  if (typeof data !== 'string' || checksum !== crc32(data)) throw corrupted();
  return listOf(parsedFields(data).ClaimInfoStateList).map(claimOf);
};
