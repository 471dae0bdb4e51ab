// The address of this machine that others know: that of the interface which the default route leads through.

import {readFileSync} from 'node:fs';
import {networkInterfaces, type NetworkInterfaceInfo} from 'node:os';

type Family = 'IPv4' | 'IPv6';
type Interfaces = Readonly<Record<string, readonly Pick<NetworkInterfaceInfo, 'address' | 'family' | 'internal'>[] | undefined>>;

/** The tables of routes that Linux shows. */
export interface RouteTables {
  readonly IPv4: string;
  readonly IPv6: string;
}

const isUp = (flags: string | undefined): boolean => (Number.parseInt(flags ?? '', 16) & 1) === 1;

/** The interfaces of the default routes of a table, in its order. */
const defaultInterfaces = (family: Family, table: string): readonly string[] =>
  table
    .split('\n')
    .map(line => line.trim().split(/\s+/))
    .filter(fields =>
      family === 'IPv4'
        ? fields[1] === '00000000' && fields[7] === '00000000' && isUp(fields[3])
        : fields[0] === '0'.repeat(32) && fields[1] === '00' && isUp(fields[8]),
    )
    .map(fields => (family === 'IPv4' ? fields[0] : fields[9]) ?? '')
    .filter(name => name !== '' && name !== 'lo');

/**
 * Returns the address of a family behind a default route, or any other that is not internal; undefined if there is
 * none.
 */
export const chosenAddress = (family: Family, interfaces: Interfaces, tables: RouteTables): string | undefined => {
  const names = [...defaultInterfaces(family, tables[family]), ...Object.keys(interfaces)];
  return names
    .flatMap(name => interfaces[name] ?? [])
    .find(({address, family: of, internal}) => !internal && of === family && !address.startsWith('fe80:'))?.address;
};

/** The text of a file; empty where there is none, as on other systems. */
const tableIn = (file: string): string => {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
};

/** The host's own address on its network; undefined on a host without one. */
export const hostAddress = (family: Family): string | undefined =>
  chosenAddress(family, networkInterfaces(), {IPv4: tableIn('/proc/net/route'), IPv6: tableIn('/proc/net/ipv6_route')});
