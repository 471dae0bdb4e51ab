import {createSecureContext} from 'node:tls';
import type {Dispatcher, Pool} from 'undici';
import {oneLine} from './one-line.js';
import type {ConnectionSettings} from './settings.js';
import type {TlsMaterial} from './tls-material.js';

const poolOptions: Pool.Options = {
  // A watch holds its connection, so their number is not limited here; the calls are, by rate.
  connections: null,
  pipelining: 1,
  keepAliveTimeout: 30_000,
  keepAliveMaxTimeout: 60_000,
  maxHeaderSize: 1 << 20,
};
const connectOptions = {timeout: 30_000, keepAlive: true, keepAliveInitialDelay: 30_000};

/** Connections to one server, directly or through the settings' proxy. Certificates that are none are reported here, not at the first request. */
export const openPool = async (settings: ConnectionSettings, {ca, pair}: TlsMaterial): Promise<Dispatcher> => {
  const {server, trust, source, proxyUrl} = settings;
  const material = {...(ca ? {ca} : {}), ...pair};
  try {
    createSecureContext(material);
  } catch (cause) {
    throw new Error(`${source}: the certificates or the key cannot be used: ${oneLine(cause)}`, {cause});
  }
  const tls = {...material, rejectUnauthorized: !trust.insecure, ...(trust.serverName ? {servername: trust.serverName} : {})};
  if (proxyUrl) {
    const {default: ProxyAgent} = await import('undici/lib/dispatcher/proxy-agent.js');
    return new ProxyAgent({...poolOptions, uri: proxyUrl, requestTls: {...connectOptions, ...tls}});
  }
  const {default: UndiciPool} = await import('undici/lib/dispatcher/pool.js');
  return new UndiciPool(new URL(server).origin, {...poolOptions, connect: {...connectOptions, ...tls}});
};
