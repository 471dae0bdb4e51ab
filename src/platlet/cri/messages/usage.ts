// Messages of resource usage.

import {double, unsigned, repeated, map, message, nested, text, time, wrappedLong, wrappedUnsigned} from '#src/platlet/rpc/codec.js';
import {containerMetadata} from './containers.js';
import {sandboxMetadata} from './sandboxes.js';

export const filesystemUsage = message({
  timestamp: time(1),
  fsId: nested(message({mountpoint: text(1)}))(2),
  usedBytes: wrappedUnsigned(3),
  inodesUsed: wrappedUnsigned(4),
});
export const imageFsInfoResponse = message({
  imageFilesystems: repeated(filesystemUsage)(1),
  containerFilesystems: repeated(filesystemUsage)(2),
});

const psiData = message({total: unsigned(1), avg10: double(2), avg60: double(3), avg300: double(4)});
const psiStats = message({full: nested(psiData)(1), some: nested(psiData)(2)});

const cpuUsage = message({
  timestamp: time(1),
  usageCoreNanoSeconds: wrappedLong(2),
  usageNanoCores: wrappedUnsigned(3),
  psi: nested(psiStats)(4),
});
const memoryUsage = message({
  timestamp: time(1),
  workingSetBytes: wrappedUnsigned(2),
  availableBytes: wrappedUnsigned(3),
  usageBytes: wrappedUnsigned(4),
  rssBytes: wrappedUnsigned(5),
  pageFaults: wrappedUnsigned(6),
  majorPageFaults: wrappedUnsigned(7),
  psi: nested(psiStats)(8),
});
const ioUsage = message({timestamp: time(1), psi: nested(psiStats)(2)});
const swapUsage = message({timestamp: time(1), swapAvailableBytes: wrappedUnsigned(2), swapUsageBytes: wrappedUnsigned(3)});

export const containerStats = message({
  attributes: nested(message({id: text(1), metadata: nested(containerMetadata)(2), labels: map(3), annotations: map(4)}))(1),
  cpu: nested(cpuUsage)(2),
  memory: nested(memoryUsage)(3),
  writableLayer: nested(filesystemUsage)(4),
  swap: nested(swapUsage)(5),
  io: nested(ioUsage)(6),
});
export const containerStatsResponse = message({stats: nested(containerStats)(1)});
export const listContainerStatsRequest = message({filter: nested(message({id: text(1), podSandboxId: text(2), labelSelector: map(3)}))(1)});
export const listContainerStatsResponse = message({stats: repeated(containerStats)(1)});

const interfaceUsage = message({
  name: text(1),
  rxBytes: wrappedUnsigned(2),
  rxErrors: wrappedUnsigned(3),
  txBytes: wrappedUnsigned(4),
  txErrors: wrappedUnsigned(5),
});

export const sandboxStats = message({
  attributes: nested(message({id: text(1), metadata: nested(sandboxMetadata)(2), labels: map(3), annotations: map(4)}))(1),
  linux: nested(
    message({
      cpu: nested(cpuUsage)(1),
      memory: nested(memoryUsage)(2),
      network: nested(message({timestamp: time(1), defaultInterface: nested(interfaceUsage)(2), interfaces: repeated(interfaceUsage)(3)}))(
        3,
      ),
      process: nested(message({timestamp: time(1), processCount: wrappedUnsigned(2)}))(4),
      containers: repeated(containerStats)(5),
      io: nested(ioUsage)(6),
    }),
  )(2),
});
export const sandboxStatsResponse = message({stats: nested(sandboxStats)(1)});
export const listSandboxStatsRequest = message({filter: nested(message({id: text(1), labelSelector: map(2)}))(1)});
export const listSandboxStatsResponse = message({stats: repeated(sandboxStats)(1)});
