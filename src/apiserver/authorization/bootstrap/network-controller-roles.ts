import {read, type ControllerRules, type PolicyBuilders} from './builders.js';

/** The rules of the controllers for services and routes. */
export const networkControllerRoles = ({reportEvents, rule}: PolicyBuilders): ControllerRules => ({
  'endpoint-controller': [
    rule(read, 'core', 'pods services'),
    rule('create delete get list update watch', 'core', 'endpoints'),
    rule('create', 'core', 'endpoints/restricted'),
    reportEvents,
  ],
  'endpointslice-controller': [
    rule(read, 'core', 'nodes pods services'),
    rule('update', 'core', 'services/finalizers'),
    rule('create delete get list update watch', 'discovery', 'endpointslices'),
    reportEvents,
  ],
  'endpointslicemirroring-controller': [
    rule(read, 'core', 'endpoints services'),
    rule('update', 'core', 'services/finalizers'),
    rule('update', 'core', 'endpoints/finalizers'),
    rule('create delete get list update watch', 'discovery', 'endpointslices'),
    reportEvents,
  ],
  'route-controller': [rule('list watch', 'core', 'nodes'), rule('patch', 'core', 'nodes/status'), reportEvents],
  'service-controller': [
    rule(read, 'core', 'services'),
    rule('patch update', 'core', 'services/status'),
    rule('list watch', 'core', 'nodes'),
    reportEvents,
  ],
  'service-cidrs-controller': [
    rule('get list patch update watch', 'networking', 'servicecidrs'),
    rule('patch update', 'networking', 'servicecidrs/finalizers'),
    rule('patch update', 'networking', 'servicecidrs/status'),
    rule(read, 'networking', 'ipaddresses'),
    reportEvents,
  ],
});
