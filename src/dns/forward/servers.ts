import {isIP} from 'node:net';

/** A resolver that answers for what is outside of the cluster. */
export interface ServerAddress {
  readonly address: string;
  readonly port: number;
}

const dnsPort = 53;

/** `address:port`, with brackets around addresses of IPv6. */
export const serverText = ({address, port}: ServerAddress): string => `${address.includes(':') ? `[${address}]` : address}:${port}`;

/** Parses an address with or without a port; undefined for any other text. */
export const parseServer = (text: string): ServerAddress | undefined => {
  if (isIP(text)) return {address: text, port: dnsPort};
  const [, inBrackets, plain, digits] = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d{1,5}))?$/.exec(text) ?? [];
  const address = inBrackets ?? plain ?? '';
  const port = Number(digits ?? dnsPort);
  const family = isIP(address);
  if (family === 0 || port < 1 || port > 65_535 || (inBrackets !== undefined && family !== 6)) return undefined;
  return {address, port};
};

/** The resolvers that a `resolv.conf` names, each once, in order. */
export const serversOfFile = (content: string): ServerAddress[] => {
  const named = content.split('\n').flatMap(line => {
    const [keyword, address = ''] = line.trim().split(/\s+/);
    return keyword === 'nameserver' && isIP(address) ? [address] : [];
  });
  return [...new Set(named)].map(address => ({address, port: dnsPort}));
};
