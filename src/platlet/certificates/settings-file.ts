// The kubeconfig that an agent writes.

import type {ConnectionSettings, Material} from '#src/transport/settings.js';

const encoded = (material: Material, field: string): Readonly<Record<string, string>> =>
  'data' in material ? {[`${field}-data`]: Buffer.from(material.data).toString('base64')} : {[field]: material.file};

/** Returns a kubeconfig for a server with a client certificate. */
export const settingsText = (
  {server, trust, proxyUrl}: Pick<ConnectionSettings, 'server' | 'trust' | 'proxyUrl'>,
  {cert, key}: {readonly cert: Material; readonly key: Material},
): string => {
  const cluster = {
    server,
    ...(trust.ca && encoded(trust.ca, 'certificate-authority')),
    ...(trust.insecure ? {'insecure-skip-tls-verify': true} : {}),
    ...(trust.serverName === undefined ? {} : {'tls-server-name': trust.serverName}),
    ...(proxyUrl === undefined ? {} : {'proxy-url': proxyUrl}),
  };
  const settings = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{name: 'default-cluster', cluster}],
    users: [{name: 'default-auth', user: {...encoded(cert, 'client-certificate'), ...encoded(key, 'client-key')}}],
    contexts: [{name: 'default-context', context: {cluster: 'default-cluster', user: 'default-auth', namespace: 'default'}}],
    'current-context': 'default-context',
  };
  return `${JSON.stringify(settings, undefined, 2)}\n`;
};
