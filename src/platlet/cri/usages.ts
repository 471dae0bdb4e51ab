// Resource usage as a runtime reports it.

import type {FilesystemUsage} from '#src/platlet/runtime/images.js';
import {identityOf} from '#src/platlet/runtime/labels.js';
import type {ContainerUsage, CpuUsage, InterfaceUsage, MemoryUsage, SandboxUsage} from '#src/platlet/runtime/usage.js';
import type {Value} from '#src/platlet/rpc/codec.js';
import type {containerStats, filesystemUsage, sandboxStats} from './messages/usage.js';

/** Returns an object without its undefined members. */
type Present<A> = {[K in keyof A]?: Exclude<A[K], undefined>};

const present = <A extends object>(values: A): Present<A> =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Present<A>;

type Stats = Value<typeof containerStats>;
type SandboxStats = Value<typeof sandboxStats>;
type Network = NonNullable<NonNullable<SandboxStats['linux']>['network']>;

export const filesystemOf = ({timestamp = 0, fsId, usedBytes, inodesUsed}: Value<typeof filesystemUsage>): FilesystemUsage => ({
  at: timestamp,
  mountpoint: fsId?.mountpoint ?? '',
  ...present({usedBytes, inodesUsed}),
});

const cpuOf = ({timestamp = 0, usageCoreNanoSeconds, usageNanoCores}: NonNullable<Stats['cpu']>): CpuUsage => ({
  at: timestamp,
  ...present({usageCoreNanoseconds: usageCoreNanoSeconds, nanoCores: usageNanoCores}),
});

const memoryOf = ({timestamp = 0, ...memory}: NonNullable<Stats['memory']>): MemoryUsage => {
  const {workingSetBytes, availableBytes, usageBytes, rssBytes, pageFaults, majorPageFaults} = memory;
  return {at: timestamp, ...present({workingSetBytes, availableBytes, usageBytes, rssBytes, pageFaults, majorPageFaults})};
};

/** Undefined for a container that no agent created. */
export const containerUsageOf = ({attributes, cpu, memory, writableLayer}: Stats): ContainerUsage | undefined => {
  const pod = attributes && identityOf(attributes.labels);
  if (!pod || !attributes.metadata) return undefined;
  return {
    id: attributes.id,
    pod,
    name: attributes.metadata.name,
    attempt: attributes.metadata.attempt,
    ...present({
      cpu: cpu && cpuOf(cpu),
      memory: memory && memoryOf(memory),
      writableLayer: writableLayer && filesystemOf(writableLayer),
    }),
  };
};

const interfaceOf = ({name, rxBytes, rxErrors, txBytes, txErrors}: NonNullable<Network['defaultInterface']>): InterfaceUsage => ({
  name,
  ...present({receivedBytes: rxBytes, receiveErrors: rxErrors, sentBytes: txBytes, sendErrors: txErrors}),
});

const networkOf = ({timestamp = 0, defaultInterface, interfaces}: Network): NonNullable<SandboxUsage['network']> => ({
  at: timestamp,
  interfaces: [...(defaultInterface ? [defaultInterface] : []), ...interfaces.filter(({name}) => name !== defaultInterface?.name)].map(
    interfaceOf,
  ),
});

/** Undefined for a sandbox that no agent created. */
export const sandboxUsageOf = ({attributes, linux}: SandboxStats): SandboxUsage | undefined => {
  if (!attributes?.metadata) return undefined;
  const {uid, namespace, name} = attributes.metadata;
  const {cpu, memory, network, process} = linux ?? {};
  return {
    id: attributes.id,
    pod: {uid, namespace, name},
    ...present({
      cpu: cpu && cpuOf(cpu),
      memory: memory && memoryOf(memory),
      network: network && networkOf(network),
      processes: process?.processCount,
    }),
  };
};
