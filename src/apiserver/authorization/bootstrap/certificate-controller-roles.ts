import {read, type ControllerRules, type PolicyBuilders} from './builders.js';

/** The rules of the controllers of certificate signing requests. */
export const certificateControllerRoles = ({naming, reportEvents, rule}: PolicyBuilders): ControllerRules => ({
  'certificate-controller': [
    rule('delete get list watch', 'certificates', 'certificatesigningrequests'),
    rule('update', 'certificates', 'certificatesigningrequests/approval certificatesigningrequests/status'),
    rule('approve', 'certificates', 'signers', naming.signers.apiserverClientAgent),
    rule(
      'sign',
      'certificates',
      'signers',
      naming.signers.apiserverClient,
      naming.signers.apiserverClientAgent,
      naming.signers.agentServing,
      naming.signers.legacyUnknown,
    ),
    rule('create', 'authorization', 'subjectaccessreviews'),
    reportEvents,
  ],
  'node-serving-approving-controller': [
    rule('get list watch', 'certificates', 'certificatesigningrequests'),
    rule('update', 'certificates', 'certificatesigningrequests/approval'),
    rule('approve', 'certificates', 'signers', naming.signers.agentServing),
    rule(read, 'core', 'nodes'),
    reportEvents,
  ],
});
