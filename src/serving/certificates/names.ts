import {isIP} from 'node:net';
import type {Certificate} from '#src/pki/certificate.js';
import {normalHost} from '#src/pki/host-names.js';

/** A certificate and the names it is served for: the configured ones, or else those it contains. */
export interface NamedPair<T> {
  readonly leaf: Certificate;
  readonly patterns: readonly string[];
  readonly value: T;
}

const domain = /^(\*|(\*\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)$/;

/**
 * The names in a certificate: its DNS names, and its common name if that is a host name. IPs are not used for
 * selection.
 */
const ownNames = ({subject: {commonName}, dnsNames}: Certificate): string[] =>
  isIP(commonName) === 0 && domain.test(commonName) ? [commonName, ...dnsNames] : [...dnsNames];

/**
 * Selects a certificate by server name or address. A full name precedes a wildcard, a configured pattern precedes a
 * name from a certificate, and of equal ones the first is used. A wildcard matches one label.
 */
export class NameTable<T> {
  readonly #byName = new Map<string, T>();

  constructor(pairs: readonly NamedPair<T>[]) {
    for (const {patterns, value} of pairs) this.#add(patterns, value);
    for (const {leaf, patterns, value} of pairs) if (patterns.length === 0) this.#add(ownNames(leaf), value);
  }

  find(host: string): T | undefined {
    const name = normalHost(host);
    const [, ...parents] = name.split('.');
    return this.#byName.get(name) ?? (isIP(name) === 0 ? this.#byName.get(['*', ...parents].join('.')) : undefined);
  }

  #add(names: readonly string[], value: T): void {
    for (const name of names.map(normalHost)) if (!this.#byName.has(name)) this.#byName.set(name, value);
  }
}
