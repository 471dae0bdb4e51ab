import {invalid, required, type FieldError} from '#src/api/field-error.js';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {parseRange} from '#src/base/ip-address.js';
import {ageColumn, nameColumn} from '#src/resources/columns.js';
import {defineResource} from '#src/resources/definition.js';
import {immutableText} from '#src/resources/validation/equality.js';
import {internalForm, internalList} from '#src/schema/error-texts/internal-form.js';
import {canonicalRange} from '#src/resources/validation/ip-fields.js';
import {subdomainName} from '#src/resources/validation/names.js';
import {sameFieldsVersion} from '#src/resources/versions.js';

type ServiceCIDR = ObjectOf<typeof kinds.serviceCIDRs>;

function* validateRanges({spec}: Readonly<ServiceCIDR>): Iterable<FieldError> {
  const path = 'spec.cidrs';
  const cidrs = spec?.cidrs ?? [];
  if (cidrs.length === 0) return yield required(path, 'at least one CIDR required');
  if (cidrs.length > 2) return yield invalid(path, spec && internalForm('ServiceCIDRSpec', spec), 'may only hold up to 2 values');
  for (const [i, cidr] of cidrs.entries()) yield* canonicalRange(`${path}[${i}]`, cidr);
  const [one, other] = cidrs.map(cidr => parseRange(cidr, true)?.address.family);
  if (one !== undefined && one === other) {
    yield invalid(path, cidrs, 'may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64');
  }
}

/** Validates that ranges are immutable, except that a second family may be added. */
function* validateChange(object: Readonly<ServiceCIDR>, old: Readonly<ServiceCIDR>): Iterable<FieldError> {
  const path = 'spec.cidrs';
  const [now, before] = [object.spec?.cidrs ?? [], old.spec?.cidrs ?? []];
  const added = before.length === 1 && now.length === 2;
  if (now.length !== before.length && !added) return yield invalid(path, internalList(object.spec, 'cidrs'), immutableText);
  for (const [i, cidr] of before.entries()) if (now[i] !== cidr) yield invalid(`${path}[${i}]`, now[i], immutableText);
  if (added) yield* validateRanges(object);
}

/** ServiceCIDR: ranges for service addresses, in addition to those the server was started with. */
export const serviceCIDRs = defineResource<ServiceCIDR>({
  kind: kinds.serviceCIDRs,
  served: {otherVersions: [sameFieldsVersion<ServiceCIDR>(kinds.serviceCIDRsV1beta1, {deprecation: {since: 'v1.34', until: 'v1.37'}})]},
  storage: {alwaysPresent: {spec: {}, status: {}}},
  metadata: {nameProblems: subdomainName},
  main: {
    writes: {create: ['metadata', 'spec'], update: ['metadata', 'spec']},
    *validate(object, old) {
      if (old) yield* validateChange(object, old);
      else yield* validateRanges(object);
    },
  },
  subresources: {status: {writes: {update: ['status']}}},
  presentation: {
    columns: [
      nameColumn,
      {name: 'CIDRs', description: 'The ranges, of at most two families.', of: ({spec}) => (spec?.cidrs ?? []).join(',')},
      ageColumn,
    ],
  },
});
