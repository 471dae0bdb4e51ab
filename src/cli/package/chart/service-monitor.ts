import type {NamedObject} from '#src/plane/manifests/read.js';
import {naming} from '#src/cli/package/project/objects.js';
import {operatorContainer, type OperatorProject} from '#src/cli/package/project/operator-project.js';

/** Returns what lets the Prometheus operator read the metrics behind a Service, as its own service account. */
export const serviceMonitorOf = ({metadata, ...service}: NamedObject, {workload}: OperatorProject): NamedObject => {
  const {ports = []} = (service as {spec?: {ports?: readonly {readonly name?: string; readonly port: number}[]}}).spec ?? {};
  const [{name, port} = {port: 443, name: undefined}] = ports;
  const isPlain = (operatorContainer(workload)!.args ?? []).includes('--metrics-secure=false');
  const secured = {
    scheme: 'https',
    bearerTokenFile: `${naming.tokenMountPath}/token`,
    tlsConfig: {insecureSkipVerify: true}, // The certificate is the operator's own; the token is what is checked.
  };
  const endpoint = {
    path: '/metrics',
    ...(name === undefined ? {targetPort: port} : {port: name}),
    ...(isPlain ? {scheme: 'http'} : secured),
  };
  return {
    apiVersion: 'monitoring.coreos.com/v1',
    kind: 'ServiceMonitor',
    metadata: {...metadata},
    spec: {endpoints: [endpoint], selector: {matchLabels: {...metadata.labels}}},
  } as unknown as NamedObject;
};
