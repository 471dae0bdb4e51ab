import {invalid, required, type FieldError} from '#src/api/field-error.js';
import {patternText, tooLongText} from '#src/api/names.js';
import type {PodDNSConfig} from '#src/api/pod.js';
import {legacyIp} from '#src/resources/validation/ip-fields.js';
import {each} from '#src/resources/validation/values.js';

const maxNameservers = 3;
const maxSearches = 32;
const maxSearchCharacters = 2048;
const searchLabel = '_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?';
const searchForm = `${searchLabel}(\\.${searchLabel})*`;
const isSearch = new RegExp(`^${searchForm}$`);
const searchText =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character";

const searchProblems = (search: string): string[] => {
  const problems: string[] = [];
  if (Buffer.byteLength(search) > 253) problems.push(tooLongText(253));
  if (!isSearch.test(search)) problems.push(patternText(searchText, searchForm, 'example.com'));
  return problems;
};

/** Validates the DNS policy and configuration. */
export function* validateDns(
  config: PodDNSConfig | undefined,
  policy: string | undefined,
  path: string,
  strict: boolean,
): Iterable<FieldError> {
  if (policy === 'None') {
    if (!config) return yield required(path, 'must provide `dnsConfig` when `dnsPolicy` is None');
    if (!config.nameservers?.length)
      return yield required(`${path}.nameservers`, 'must provide at least one DNS nameserver when `dnsPolicy` is None');
  }
  const {nameservers = [], searches = [], options = []} = config ?? {};
  if (nameservers.length > maxNameservers)
    yield invalid(`${path}.nameservers`, nameservers, `must not have more than ${maxNameservers} nameservers`);
  for (const [i, server] of nameservers.entries()) yield* legacyIp(`${path}.nameservers[${i}]`, server, {strict});
  if (searches.length > maxSearches) yield invalid(`${path}.searches`, searches, `must not have more than ${maxSearches} search paths`);
  if (searches.join(' ').length > maxSearchCharacters) {
    yield invalid(
      `${path}.searches`,
      searches,
      `must not have more than ${maxSearchCharacters} characters (including spaces) in the search list`,
    );
  }
  for (const [i, search] of searches.entries()) {
    if (search !== '.') yield* each(`${path}.searches[${i}]`, search.replace(/\.$/, ''), searchProblems(search.replace(/\.$/, '')));
  }
  for (const [i, {name}] of options.entries()) if (!name) yield required(`${path}.options[${i}]`, 'must not be empty');
}
