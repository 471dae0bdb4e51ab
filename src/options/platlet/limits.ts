import {naming} from '#src/api/naming.js';
import {flagSection} from '#src/options/flag.js';
import {inFile, pending} from './markers.js';

const {protobufMediaType} = naming('plat');
const row = {...inFile, ...pending} as const;
const percent = {min: 0, max: 100} as const;

/** Flags of limits, rates and timeouts of the node agent. */
export const limits = flagSection('Limits, rates, timeouts', {
  'max-pods': {...row, type: 'int32', help: 'Pods on this node at most.', default: '110', range: {min: 0}},
  'pods-per-core': {...row, type: 'int32', help: 'Pods for each core, capped by --max-pods. 0 sets no such limit.', default: '0', range: {min: 0}},
  'pod-max-pids': {
    ...row,
    type: 'int',
    help: 'Processes in a pod at most. -1 takes as many as the node can allocate.',
    default: '-1',
    range: {min: -1},
  },
  'max-open-files': {...row, type: 'int', help: 'Files the agent may hold open.', default: '1000000', range: {min: 0}},
  'container-log-max-files': {...row, type: 'int32', help: '[beta] Log files kept for a container; at least 2.', default: '5', range: {min: 2}},
  'container-log-max-size': {...row, type: 'quantity', label: 'string', help: '[beta] The size a log file grows to before it is rotated.', default: '10Mi'},
  'file-check-frequency': {...row, type: 'duration', help: 'How often files with pods are looked at.', default: '20s', range: {min: '0'}},
  'http-check-frequency': {...row, type: 'duration', help: 'How often the URL with pods is looked at.', default: '20s', range: {min: '0'}},
  'sync-frequency': {
    ...row,
    type: 'duration',
    help: 'The longest time between syncs of running containers with what should run.',
    default: '1m0s',
    range: {above: '0'},
  },
  'node-status-update-frequency': {
    ...row,
    type: 'duration',
    help: 'How often the status of the node is posted. Must suit the controller manager\'s --node-monitor-grace-period.',
    default: '10s',
    range: {above: '0'},
  },
  'node-status-max-images': {...row, type: 'int32', help: 'Images listed in the status of the node. -1 lists all.', default: '50', range: {min: -1}},
  'plat-api-qps': {
    ...row,
    type: 'int32',
    help: 'Requests to the API server a second, without events and heartbeats. 0 selects 50.',
    default: '50',
    range: {min: 0},
  },
  'plat-api-burst': {...row, type: 'int32', help: 'Requests to the API server that may be made at once. 0 selects 100.', default: '100', range: {min: 0}},
  'plat-api-content-type': {...row, type: 'string', help: 'The content type of requests to the API server.', default: protobufMediaType},
  'event-qps': {...row, type: 'int32', help: 'Events a second. 0 selects 5.', default: '50', range: {min: 0}},
  'event-burst': {...row, type: 'int32', help: 'Events that may be sent at once. 0 selects 10.', default: '100', range: {min: 0}},
  'registry-qps': {...row, type: 'int32', help: 'Image pulls a second. 0 sets no limit.', default: '5', range: {min: 0}},
  'registry-burst': {
    ...row,
    type: 'int32',
    help: 'Image pulls that may begin at once. Used only when --registry-qps is above 0.',
    default: '10',
    range: {min: 0},
  },
  'serialize-image-pulls': {...row, type: 'bool', help: 'Pull one image at a time.', default: 'true'},
  'runtime-request-timeout': {
    ...row,
    type: 'duration',
    help: 'How long the runtime may take for a request other than pull, logs, exec and attach. A request that takes longer is cancelled and made again later.',
    default: '2m0s',
    range: {above: '0'},
  },
  'streaming-connection-idle-timeout': {
    ...row,
    type: 'duration',
    help: 'How long a streaming connection may be idle. 0 sets no limit; every connection ends after 4 hours.',
    default: '4h0m0s',
    range: {min: '0'},
  },
  'volume-stats-agg-period': {
    ...row,
    type: 'duration',
    help: 'How often the use of volumes is added up. A negative time never does.',
    default: '1m0s',
  },
  'image-gc-high-threshold': {
    ...row,
    type: 'int32',
    help: 'The percentage of a disk above which unused images are always removed. 100 never removes any.',
    default: '85',
    range: percent,
  },
  'image-gc-low-threshold': {
    ...row,
    type: 'int32',
    help: 'The percentage of a disk below which they never are. Less than --image-gc-high-threshold.',
    default: '80',
    range: percent,
  },
  'minimum-image-ttl-duration': {
    ...row,
    type: 'duration',
    help: 'How old an unused image must be before it is removed.',
    default: '2m0s',
    range: {min: '0'},
  },
  'maximum-dead-containers': {
    ...pending,
    type: 'int32',
    help: 'Old containers kept on the node. A negative number keeps all.',
    default: '-1',
    deprecated: 'use --eviction-hard or --eviction-soft instead',
  },
  'maximum-dead-containers-per-container': {
    ...pending,
    type: 'int32',
    help: 'Old instances kept for each container.',
    default: '1',
    deprecated: 'use --eviction-hard or --eviction-soft instead',
  },
  'minimum-container-ttl-duration': {
    ...pending,
    type: 'duration',
    help: 'How long a finished container is kept at least.',
    deprecated: 'use --eviction-hard or --eviction-soft instead',
    range: {min: '0'},
  },
  'eviction-hard': {...row, type: 'thresholds', help: 'Thresholds that evict pods at once, for example memory.available<1Gi.'},
  'eviction-soft': {...row, type: 'thresholds', help: 'Thresholds that evict pods once they have held for their grace period, for example memory.available<1.5Gi.'},
  'eviction-soft-grace-period': {...row, type: 'map', help: 'How long each soft threshold must hold, for example memory.available=1m30s.'},
  'eviction-minimum-reclaim': {...row, type: 'map', help: 'How much an eviction must at least free, for example imagefs.available=2Gi.'},
  'eviction-max-pod-grace-period': {
    ...row,
    type: 'int32',
    help: 'The longest grace period, in seconds, of pods ended for a soft threshold. A negative number leaves it to the pod.',
  },
  'eviction-pressure-transition-period': {
    ...row,
    type: 'duration',
    help: 'How long to wait before a condition of pressure is taken back.',
    default: '5m0s',
    range: {min: '0'},
  },
});
