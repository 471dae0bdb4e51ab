import {isIP} from 'node:net';
import type {Certificate} from '#src/pki/certificate.js';
import {normalHost} from '#src/pki/host-names.js';

/** A certificate that is served under some names: those given for it, or else those it carries. */
export interface NamedPair<T> {
  readonly leaf: Certificate;
  readonly patterns: readonly string[];
  readonly value: T;
}

const domain = /^(\*|(\*\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)$/;

/** The names that a certificate itself is good for: its DNS names, and its common name where that looks like one. IPs never choose by themselves. */
const ownNames = ({subject: {commonName}, dnsNames}: Certificate): string[] =>
  isIP(commonName) === 0 && domain.test(commonName) ? [commonName, ...dnsNames] : [...dnsNames];

/**
 * Chooses by server name or address. A full name beats a wildcard, a pattern that was given beats a name taken from a certificate, and of equals
 * the earlier one wins. A wildcard stands for one label.
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
