import type {ClusterRole} from '#src/api/types.js';
import type {PolicyBuilders} from './builders.js';

/** The roles of administrators, of all users, and of monitoring. */
export const userRoles = ({clusterRole, paths, rule, when}: PolicyBuilders): ClusterRole[] => [
  clusterRole('cluster-admin', [rule('*', '*', '*'), paths('*', '*')]),
  clusterRole('system:discovery', [
    paths('get', '/api', '/api/*', '/apis', '/apis/*', '/healthz', '/livez', '/openapi', '/openapi/*', '/readyz', '/version', '/version/'),
  ]),
  clusterRole('system:monitoring', [
    paths('get', '/healthz', '/healthz/*', '/livez', '/livez/*', '/metrics', '/metrics/slis', '/readyz', '/readyz/*'),
    rule('get', 'core', 'nodes/metrics'),
    ...when('ComponentFlagz', paths('get', '/flagz')),
    ...when('ComponentStatusz', paths('get', '/statusz')),
  ]),
  clusterRole('system:basic-user', [
    rule('create', 'authorization', 'selfsubjectaccessreviews selfsubjectrulesreviews'),
    rule('create', 'authentication', 'selfsubjectreviews'),
  ]),
  clusterRole('system:public-info-viewer', [paths('get', '/healthz', '/livez', '/readyz', '/version', '/version/')]),
  clusterRole('system:service-account-issuer-discovery', [
    paths('get', '/.well-known/openid-configuration', '/.well-known/openid-configuration/', '/openid/v1/jwks', '/openid/v1/jwks/'),
  ]),
  clusterRole('system:auth-delegator', [
    rule('create', 'authentication', 'tokenreviews'),
    rule('create', 'authorization', 'subjectaccessreviews'),
  ]),
];
