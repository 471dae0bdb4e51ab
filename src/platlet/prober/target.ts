// The targets of probes and hooks.

import type {Frozen} from '#src/api/key.js';
import type {AnyContainer, HTTPGetAction} from '#src/api/pod.js';

/** Returns a container port given by number or by name. Throws if there is no port of the name. */
export const portOf = (port: number | string | object, {ports = []}: Frozen<AnyContainer>): number => {
  const text = String(port as number | string);
  const named = ports.find(({name}) => name === text)?.containerPort;
  const number = named ?? Number(text);
  if (Number.isInteger(number) && number > 0 && number < 65_536) return number;
  if (/^-?\d+$/.test(text)) throw new Error(`invalid port number: ${text}`);
  throw new Error(`couldn't find port: ${JSON.stringify(text)} in container`);
};

export interface HttpTarget {
  readonly url: URL;
  /** In the order of the spec; an empty value removes a default header. */
  readonly headers: readonly (readonly [name: string, value: string])[];
}

const bracketed = (host: string): string => (host.includes(':') ? `[${host}]` : host);

/** Returns the target of an HTTP request. `host`: the address of the pod, used if none is given. */
export const httpTarget = (
  {host, port, path = '/', scheme = 'HTTP', httpHeaders = []}: Frozen<HTTPGetAction>,
  container: Frozen<AnyContainer>,
  address: string,
): HttpTarget => {
  const to = `${scheme.toLowerCase()}://${bracketed(host || address)}:${portOf(port, container)}`;
  return {
    url: new URL(`${path.startsWith('/') ? '' : '/'}${path}`, to),
    headers: httpHeaders.map(({name, value}) => [name, value] as const),
  };
};
