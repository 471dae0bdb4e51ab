import {read, type ControllerRules, type PolicyBuilders} from './builders.js';

/** The rules of the controllers for volumes. */
export const storageControllerRoles = ({reportEvents, rule}: PolicyBuilders): ControllerRules => ({
  'attachdetach-controller': [
    rule('list watch', 'core', 'persistentvolumeclaims persistentvolumes'),
    rule(read, 'core', 'nodes'),
    rule('patch update', 'core', 'nodes/status'),
    rule('list watch', 'core', 'pods'),
    reportEvents,
    rule('create delete get list watch', 'storage', 'volumeattachments'),
    rule(read, 'storage', 'csidrivers'),
    rule(read, 'storage', 'csinodes'),
  ],
  'ephemeral-volume-controller': [
    rule(read, 'core', 'pods'),
    rule('update', 'core', 'pods/finalizers'),
    rule('create get list watch', 'core', 'persistentvolumeclaims'),
    reportEvents,
  ],
  'expand-controller': [
    rule('get list patch update watch', 'core', 'persistentvolumes'),
    rule('patch update', 'core', 'persistentvolumeclaims/status'),
    rule(read, 'core', 'persistentvolumeclaims'),
    reportEvents,
    rule('get', 'core', 'services'),
  ],
  'persistent-volume-binder': [
    rule('create delete get list update watch', 'core', 'persistentvolumes'),
    rule('update', 'core', 'persistentvolumes/status'),
    rule('get list update watch', 'core', 'persistentvolumeclaims'),
    rule('update', 'core', 'persistentvolumeclaims/status'),
    rule('create delete get list watch', 'core', 'pods'),
    rule(read, 'storage', 'storageclasses'),
    rule('list watch', 'core', 'nodes'),
    reportEvents,
    rule('watch', 'core', 'events'),
    rule('get', 'core', 'services'),
  ],
  'pv-protection-controller': [rule('get list update watch', 'core', 'persistentvolumes'), reportEvents],
  'pvc-protection-controller': [rule('get list update watch', 'core', 'persistentvolumeclaims'), rule(read, 'core', 'pods'), reportEvents],
  'selinux-warning-controller': [
    reportEvents,
    rule(read, 'core', 'persistentvolumes'),
    rule(read, 'core', 'persistentvolumeclaims'),
    rule(read, 'core', 'pods'),
    rule(read, 'storage', 'csidrivers'),
  ],
  'volumeattributesclass-protection-controller': [
    rule(read, 'core', 'persistentvolumeclaims'),
    rule(read, 'core', 'persistentvolumes'),
    rule('get list update watch', 'storage', 'volumeattributesclasses'),
    reportEvents,
  ],
});
