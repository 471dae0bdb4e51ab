import {formatDuration} from '#src/api/duration.js';
import {leaseSeconds} from '#src/platlet/node/lease.js';
import {renewMs, reportMs} from './heartbeat.js';
import type {Machine} from './node-object.js';

/** Returns the kubelet configuration of a simulated node. */
export const configurationOf = ({port, addresses: [address = ''], capacity, taints}: Machine): Readonly<Record<string, unknown>> => ({
  enableServer: true,
  address,
  port,
  authentication: {x509: {}, webhook: {enabled: true}, anonymous: {enabled: false}},
  authorization: {mode: 'Webhook'},
  registerNode: true,
  ...(taints.length > 0 ? {registerWithTaints: taints} : {}),
  nodeStatusUpdateFrequency: formatDuration(renewMs),
  nodeStatusReportFrequency: formatDuration(reportMs),
  nodeLeaseDurationSeconds: leaseSeconds,
  maxPods: Number(capacity['pods'] ?? 0),
  enableControllerAttachDetach: true,
  enableDebuggingHandlers: true,
});
