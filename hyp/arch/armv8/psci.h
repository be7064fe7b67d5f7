/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Power State Coordination Interface (Arm DEN 0022): what guests call, and some firmware has. */
#ifndef RINGFENCE_HYP_PSCI_H
#define RINGFENCE_HYP_PSCI_H

/* DEN 0022 5.1: function identifiers; those with a 64 bit form have SMCCC_64 there. */
#define PSCI_VERSION 0x84000000U
#define PSCI_CPU_OFF 0x84000002U
#define PSCI_CPU_ON 0x84000003U
#define PSCI_AFFINITY_INFO 0x84000004U
#define PSCI_MIGRATE_INFO_TYPE 0x84000006U
#define PSCI_SYSTEM_OFF 0x84000008U
#define PSCI_SYSTEM_RESET 0x84000009U
#define PSCI_FEATURES 0x8400000aU

/* DEN 0022 5.2: results. */
#define PSCI_SUCCESS 0U
#define PSCI_INVALID_PARAMETERS ((uint64_t)-2)
#define PSCI_ALREADY_ON ((uint64_t)-4)
#define PSCI_VERSION_1_0 0x00010000U
#define PSCI_NOT_TRUSTED_OS 2U /* of MIGRATE_INFO_TYPE: nothing to migrate */
#define PSCI_AFFINITY_ON 0U
#define PSCI_AFFINITY_OFF 1U
#define PSCI_AFFINITY_PENDING 2U

#endif
