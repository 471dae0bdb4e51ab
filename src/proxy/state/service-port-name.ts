import {keyText, type ObjectKey} from '#src/api/key.js';

export type Protocol = 'TCP' | 'UDP' | 'SCTP';

/** Names a port of a service. */
export interface ServicePortName extends ObjectKey {
  readonly port: string;
  readonly protocol: Protocol;
}

/** The key of a service port in maps. */
export const servicePortKey = (name: ServicePortName): string => `${keyText(name)}:${name.port}:${name.protocol}`;

/** A service port in comments and logs: `namespace/name:port`. */
export const servicePortText = (name: ServicePortName): string => (name.port === '' ? keyText(name) : `${keyText(name)}:${name.port}`);
