import {join} from 'node:path';
import type {AgentFeature} from '#src/platlet/feature/feature.js';
import {parseResolverFile} from '#src/platlet/inputs/resolver.js';

/** Returns the resolver file of a mounter's image. `hostFile`: the content of that of the host, if pods inherit it. */
export const mounterResolver = (servers: readonly string[], hostFile: string | undefined): string =>
  [
    ...servers.map(server => `nameserver ${server}\n`),
    ...(hostFile === undefined ? [] : [`${['search', ...parseResolverFile(hostFile).searches].join(' ')}\n`]),
  ].join('');

/** Writes the resolver file into the image of the mounter program that a flag names. */
export const containerizedMounter: AgentFeature = {
  name: 'resolver of the mounter',
  async start({settings: {clusterDNS, resolvConf}, flags: {mounterPath}, host, log}) {
    if (!mounterPath) return;
    const hostFile = resolvConf ? await host.read(resolvConf) : undefined;
    if (resolvConf && !hostFile) log.error({path: resolvConf}, 'failed to open the resolver file of the host');
    const path = join(mounterPath.replace(/\/mounter$/, ''), 'rootfs', 'etc', 'resolv.conf');
    await host.writeFile(path, mounterResolver(clusterDNS, hostFile?.toString()), 0o600);
  },
};
